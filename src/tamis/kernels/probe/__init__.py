"""The law of a random probe."""
