"""The metadata log (`__cluster_metadata`): its records, its files, and the image made from it."""
