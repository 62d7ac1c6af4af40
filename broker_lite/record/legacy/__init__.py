"""Messages of magic 0 and 1: logs of old releases hold them, old clients send and expect them.

messages reads them, message_builder writes them, down_conversion makes them from v2 batches.
"""
