"""The files of one partition: how each kind of file is named, read, checked and written.

- open_file, file_cache, reserve: opening files, and ranges of them
- names: the names of files and directories
- segment, walk, headers, entries, batch_reader: the batches of a segment, and reading through them
- index, index_checks, txn_index, txn_index_checks: the indexes of a segment, and checks that
  compare them with the batches
- checkpoints, leader_epochs: the small text files

The functions that walk over headers need only an open_file.ReadsAt, so the pipeline uses them for
files in object stores, too.

Nothing here knows how a log is put together, or what reads it.
"""
