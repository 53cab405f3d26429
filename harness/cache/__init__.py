"""The cache: results that runs share, in tables and folders named by a hash of their inputs."""
