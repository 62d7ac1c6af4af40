"""From the bytes that a client produces to a batch that may be appended, or to why it may not.

produced_batch looks at one batch of a request, old_messages at the message sets of old clients.
single_records lists the records that are refused, rebuild writes a batch anew for another codec,
refusals has the words. Pure: no log, no file, no clock.
"""
