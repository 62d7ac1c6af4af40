"""What is on disk of one partition: how each kind of file is named, read, checked and written.

Opening and slicing files (open_file, file_cache, reserve), their names (names), the batches of a
segment and the walks over them (segment, walk, headers, entries, batch_reader), its indexes with
the checks that hold them against the batches (index, index_checks, txn_index, txn_index_checks),
and the small text files (checkpoints, leader_epochs). A walk over headers asks a file for no more
than open_file.ReadsAt: the pipeline's files in object stores are walked by the same code.

Nothing here knows what a log is made of or who reads it.
"""
