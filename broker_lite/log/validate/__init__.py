"""Validates the bytes of a Produce request: the result is a batch to append, or an error.

produced_batch checks one batch of a request, old_messages the message sets of old clients.
single_records lists the records that are refused, rebuild writes a batch with another codec,
refusals has the texts of the errors. All of it is pure: no log, no file, no clock.
"""
