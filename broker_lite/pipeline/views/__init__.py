"""The views: a log as Arrow batches of records, batch headers or index entries."""
