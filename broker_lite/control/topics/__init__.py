"""Topics: the rules for creating them, their effective configs, and their partitions' logs."""
