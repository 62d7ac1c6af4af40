"""Checks whether a log is sound."""
