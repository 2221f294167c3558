"""Settings that must stand before scipy is imported."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # without it scikit-learn refuses Array-API input
