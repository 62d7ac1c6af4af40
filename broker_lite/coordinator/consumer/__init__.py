"""Groups of the consumer protocol (KIP-848): ConsumerGroupHeartbeat, and what a group keeps."""
