"""Whether a log is sound."""
