"""Logs made from numbers, by a specification."""
