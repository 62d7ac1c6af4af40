"""The log room: partitions on disk, in Kafka's files.

In come validated batches and questions by offset or timestamp; out go offsets and ranges of files
(files.open_file.FileSlice), never record bytes. The only room that touches data files; it knows no
socket, no event loop and no clock. From the top down:

- cleaner: compaction
- directory: all logs of a data directory; directory.manager.LogManager is where others come in
- recovery: loading one partition and repairing it
- the modules beside this one: the log of one partition (log.Log)
- files: what is on disk; validate: what clients produce; producers: who wrote what
"""
