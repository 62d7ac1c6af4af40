"""Messages of magic 0 and 1: what logs of old releases hold and old clients send and want.

messages reads them, message_builder writes them, down_conversion makes them of v2 batches.
"""
