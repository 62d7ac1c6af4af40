"""Coordinators of groups and transactions, as pure state machines.

In come requests as decoded messages, timers and the time in milliseconds; out come records for the
state logs and answers to open requests. No socket, loop, file or clock is ever touched: who runs a
coordinator writes the records, then sends the answers, and tells it when a timer is due.

`groups` and `transactions` are the two coordinators. Below `groups` stand the requests about
offsets, the registry of all groups, and the two kinds of groups with the ways between them. What
has no folder is shared.
"""
