"""The control room: the cluster's topics, configs, features and ids, and the log that keeps them.

In: what a handler was asked to change. Out: the image of the cluster, and the logs of its
partitions. It never touches a socket, and no data file but through the log room.
"""
