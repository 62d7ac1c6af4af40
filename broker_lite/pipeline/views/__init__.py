"""Rows of a log in Arrow batches: records, batches, index entries."""
