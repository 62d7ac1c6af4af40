"""`broker-lite bench`: put load on any Kafka, measure latencies and rates, compare runs.

The modules read flags and print; the load itself is broker_lite.load.
"""
