"""Configs of topics, groups and brokers that run: which may be set, and how they are described."""
