"""From the bytes that a client produces to a batch that may be appended, or to why it may not.

request_shape looks at a request as a whole, produced_batch at one batch of it, old_messages at the
message sets of old clients. single_records finds the records that are refused, rebuild writes a
batch anew for another codec, refusals has the words. Pure: no log, no file, no clock.
"""
