"""Quotas that are in force: rates, how long who is over one is throttled, and whose quota counts.

What comes in are the quotas of the cluster, the client of a request, amounts and times. What goes
out are milliseconds. Nothing here waits, and a broker without quotas imports none of it.
"""
