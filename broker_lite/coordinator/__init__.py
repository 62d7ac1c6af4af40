"""Coordinators of groups and transactions, as pure state machines.

A coordinator takes decoded requests, due timers and the time in milliseconds. It returns records
for the state logs and responses to open requests. It uses no socket, event loop, file or clock: its
caller writes the records, then sends the responses, and calls it when a timer is due.

`groups` and `transactions` are the two coordinators. `groups` uses the handling of offsets
(`offsets`), the registry of all groups, the two kinds of groups (`classic`, `consumer`) and the
conversion between them (`migration`). Modules outside these folders are shared.
"""
