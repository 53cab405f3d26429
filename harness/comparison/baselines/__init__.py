"""Baselines: runs that a person promoted, each a small file, and how they are named and read."""
