"""Rankers that add one feature after another."""
