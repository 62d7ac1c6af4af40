"""The producers that wrote to one partition: duplicates, sequences, epochs, transactions.

state has them all, entry what is known of one, checks the rules by which a batch or a marker is
taken, snapshot their form in a file. Pure: bytes and numbers in and out, no file.
"""
