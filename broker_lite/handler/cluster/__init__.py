"""Handlers of requests about brokers: their addresses, disks, leaders, features."""
