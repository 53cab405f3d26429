"""What is made to break what reads it, and what must hold whatever it is."""
