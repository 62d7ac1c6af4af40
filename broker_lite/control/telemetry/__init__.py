"""Client metrics (KIP-714): subscriptions, the clients that push, and what they have pushed."""
