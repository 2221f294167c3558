"""Rankers that eliminate features, the least useful first."""
