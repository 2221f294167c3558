"""Methods that pick columns which stand for all columns."""
