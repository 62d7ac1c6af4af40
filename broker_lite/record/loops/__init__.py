"""The loops over the records of a batch, one in each module, compiled by Cython.

They take the decompressed bytes of one batch after its header, and return positions, counts,
columns or new bytes. Nothing else in the package looks at each produced or compacted record.
"""
