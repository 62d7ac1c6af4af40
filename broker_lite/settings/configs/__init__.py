"""Configs of topics, groups and running brokers: which may be set, and how they are described."""
