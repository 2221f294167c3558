"""Methods with a term that drives weights to zero."""
