"""Tests, in the tree of the package; a package itself, so that one of the same name elsewhere is not taken for it."""
