"""Server-side assignors of the consumer protocol: who of a group is to have which partitions."""
