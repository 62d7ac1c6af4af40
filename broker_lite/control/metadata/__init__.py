"""The metadata log (`__cluster_metadata`): its records, its files, and the image of the cluster."""
