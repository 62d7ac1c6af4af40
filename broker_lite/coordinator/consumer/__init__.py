"""Groups of the consumer protocol (KIP-848): ConsumerGroupHeartbeat, and the state of a group."""
