"""Columns that stand for all columns."""
