"""Imports files of ratings and thumbs into a run."""
