"""Documents that nobody judged, on their way to the people who judge them, and back."""
