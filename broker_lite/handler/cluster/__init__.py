"""Requests about brokers: where they are, their disks, leaders, features."""
