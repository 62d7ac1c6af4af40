"""Server-side assignors of the consumer protocol: which member gets which partitions."""
