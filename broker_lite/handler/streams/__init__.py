"""Handlers of requests about streams groups (KIP-1071)."""
