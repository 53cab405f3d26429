"""Human ratings of a run's answers: forms, pools, import, agreement, metric correlation."""
