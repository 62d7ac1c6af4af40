"""Requests about configs of topics, brokers and groups."""
