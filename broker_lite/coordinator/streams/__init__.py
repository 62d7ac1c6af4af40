"""Streams groups (KIP-1071): topologies, their topics, the task assignor, members and their tasks.

A task is a subtopology of a Kafka Streams application and a partition of its input topics. The
coordinator knows the topology from the first member, and gives the tasks to the members.
"""
