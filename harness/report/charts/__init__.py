"""Charts: each file draws one from a stored run, as a figure with its title, caption and table."""
