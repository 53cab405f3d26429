"""Configuration: from YAML to a checked `RunConfig`, its grid and its gate rules."""
