"""Cells side by side, of one run or of two: differences, what changed, and which to ship."""
