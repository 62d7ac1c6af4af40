"""Logs of synthetic topics: what a reader sees instead of the stored records.

In come the settings of a topic, out go parts of one run of batches that is repeated for ever. The
stored files are neither read nor changed. Runs are kept in memory, never on disk.
"""
