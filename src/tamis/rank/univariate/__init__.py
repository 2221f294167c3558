"""Methods that look at one feature at a time."""
