"""Rankers: every method of the papers that orders features."""
