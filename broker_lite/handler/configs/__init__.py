"""Handlers of requests about configs of topics, brokers and groups."""
