"""The loops over the records of a batch, one in each module, compiled by Cython.

In: the bytes of one batch behind its header, decompressed. Out: positions, counts, columns or new
bytes. Nothing else in the package looks at each record of what is produced or compacted.
"""
