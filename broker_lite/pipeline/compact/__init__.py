"""Compaction of logs that no broker has open."""
