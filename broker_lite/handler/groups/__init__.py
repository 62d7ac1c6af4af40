"""Handlers of requests about groups and the offsets that they commit."""

# An eighth of all modules, which nothing needs before there is a group. They are imported with the
# handlers, in a thread, so that the first request about a group does not hold the event loop.
import broker_lite.coordinator.groups.coordinator  # noqa: F401
