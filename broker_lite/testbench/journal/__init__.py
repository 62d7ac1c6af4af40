"""The journal: what clients asked, what they were answered, and which fault acted.

Input: requests and answers of the connections, at the hook of their API. Output: entries that can
be listed, decoded, waited for, followed and compared with what a test expects. Recording costs a
few microseconds a request, because nothing is decoded before somebody reads an entry.
"""
