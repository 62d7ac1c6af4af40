"""Bulk reading and writing of segment files, without a broker.

In come a path or a URI and options, out go Arrow batches by split; nothing here knows a socket or a
server, and of Spark only `pipeline/spark` knows. The broker imports nothing of this room.
"""
