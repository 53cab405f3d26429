"""Pools of unjudged documents: collected, written for human judges, read back and merged."""
