"""Before a run: checks of data and machine, traffic, and what the run will cost."""
