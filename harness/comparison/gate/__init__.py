"""The gate: a run judged by the rules and limits of its configuration."""
