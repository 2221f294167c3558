"""Methods that compare every sample with its neighbors."""
