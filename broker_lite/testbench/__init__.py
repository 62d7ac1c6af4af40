"""The test bench: faults on command, a journal of requests, waits, and the API for them.

Input: JSON over HTTP, or over the socket of the process that started the broker. Output: JSON, and
a broker that does what it was told. Nothing of it is imported, and nothing of it is on the path of
a request, until somebody uses it.
"""
