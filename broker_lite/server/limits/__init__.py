"""What the clients of a node may take: memory, descriptors, connections, time."""
