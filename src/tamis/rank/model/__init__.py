"""Rankers by what a fitted model says of its inputs."""
