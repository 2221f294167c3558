"""Methods that add or remove one feature after another."""
