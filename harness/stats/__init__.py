"""How sure a mean is, and how sure a difference: intervals, paired tests, power, shifts."""
