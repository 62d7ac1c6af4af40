"""The control room: the cluster's topics, configs, features and ids, and the metadata log.

It takes the changes that handlers ask for. It provides the image of the cluster and the logs of its
partitions. It uses no socket, and it reads and writes data files only through the log room.
"""
