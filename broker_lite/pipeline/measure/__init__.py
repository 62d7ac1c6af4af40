"""Measures a log: sums of its batches and records, and the facts of a report that they give."""
