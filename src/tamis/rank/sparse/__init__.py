"""Linear models with a sparsity term: features with a weight are selected."""
