"""The log room: partitions on disk, in Kafka's files.

In come validated batches (validate.py) and questions by offset or timestamp; out go offsets and
ranges of files (files.FileSlice), never record bytes. manager.LogManager has the logs of a data
directory, log.Log is one partition. The only room that touches data files; it knows no socket, no
event loop and no clock.
"""
