"""Rankings: relevance, interval cover, exact search, fusion and filters, on plain data."""
