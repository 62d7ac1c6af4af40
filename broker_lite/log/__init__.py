"""The log room: partitions on disk, in Kafka's files.

Validated batches and questions by offset or timestamp come in. Offsets and ranges of files
(files.open_file.FileSlice) go out, never record bytes. Only this room touches data files; it knows
no socket, no event loop and no clock. From the top down:

- cleaner: compaction
- directory: all logs of a data directory; other rooms begin with directory.manager.LogManager
- recovery: loading one partition and repairing it
- the modules beside this one: the log of one partition. log.Log appends; it consists of segments,
  flusher, visibility and epoch_file. read and timestamps look at a log, removal removes segments
- files: the files on disk; validate: the batches that clients produce; producers: who wrote them
"""
