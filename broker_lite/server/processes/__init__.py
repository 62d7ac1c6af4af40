"""Several processes: the first one has the metadata and the coordinators, each has one broker.

A process of its own event loop is started for each further broker; it has a data directory and the
logs of the partitions that the broker leads. A socket to the first process is all that they share.
There the metadata comes from, and there the requests go that are not about records.
"""
