"""Runs: asks each question in each cell, scores it, and finds where answers are lost."""
