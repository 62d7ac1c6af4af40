"""Bulk reading and writing of segment files, without a broker.

It takes a path or a URI with options and returns Arrow batches, split by split. Nothing here uses a
socket or a server. Only `pipeline/spark` imports Spark. The broker imports nothing of this room.
"""
