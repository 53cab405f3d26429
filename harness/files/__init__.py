"""Files: bounded readers and atomic writers for JSON Lines, CSV, YAML, Parquet and TREC files."""
