"""Predictors that select features while they learn."""
