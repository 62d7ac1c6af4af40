"""Generates logs from a seeded specification."""
