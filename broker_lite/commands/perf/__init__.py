"""Kafka's performance tests, on top of broker_lite.client.

They are for comparing runs with each other. They send one request at a time, so the client becomes
the limit sooner than Kafka's own, which is in Java and uses threads.
"""
