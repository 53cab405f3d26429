"""Files of what people said of a run, brought into it."""
