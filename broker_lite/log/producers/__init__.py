"""The producers that wrote to one partition: duplicates, sequences, epochs, transactions.

state keeps all producers, entry one of them. checks has the rules for batches and markers, snapshot
the content of a .snapshot file. Nothing here touches a file: bytes and numbers come in and go out.
"""
