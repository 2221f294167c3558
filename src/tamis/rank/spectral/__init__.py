"""Graph of the samples: features that vary little along it, or that explain its clusters."""
