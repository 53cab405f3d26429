"""What people said of a run's answers: read back, summed up, and held against the metrics."""
