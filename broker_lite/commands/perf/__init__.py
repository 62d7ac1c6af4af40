"""Kafka's performance tests, over the client room: what they print, and how they measure it.

They are made for comparing runs with each other. One request is under way at a time, so that the
client is the limit sooner than Kafka's own, which is in Java and has threads.
"""
