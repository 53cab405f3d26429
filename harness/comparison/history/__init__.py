"""History: stored runs as a series over time, and where it shifted."""
