"""Topics: which may be created, their effective configs, and the logs of their partitions."""
