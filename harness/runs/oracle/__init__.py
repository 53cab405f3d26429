"""The oracle: the answers of a generator given perfect retrieval, and given none."""
