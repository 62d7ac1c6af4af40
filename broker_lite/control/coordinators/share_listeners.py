"""Who waits for records of share partitions that may become available, or for memory for them."""

from collections.abc import Callable, Iterable

from broker_lite.coordinator.share_records.states import ShareKey

Listener = Callable[[], object]


class ShareListeners:
    """The listeners by share partition; used by one thread."""

    def __init__(self) -> None:
        """Begin without any."""
        self._listeners: dict[ShareKey, dict[Listener, None]] = {}
        self._for_memory: dict[Listener, None] = {}

    def add(self, keys: Iterable[ShareKey], listener: Listener) -> None:
        """Call a function when records of a share partition may have become available.

        It is also called when there is memory again.
        """
        self._for_memory[listener] = None
        for key in keys:
            self._listeners.setdefault(key, {})[listener] = None

    def remove(self, keys: Iterable[ShareKey], listener: Listener) -> None:
        """Stop calling a function."""
        self.stop_for_memory(listener)
        for key in keys:
            listeners = self._listeners.get(key)
            if listeners is not None:
                listeners.pop(listener, None)
                if not listeners:
                    del self._listeners[key]

    def stop_for_memory(self, listener: Listener) -> None:
        """Stop calling a function when there is memory: it lacks none."""
        self._for_memory.pop(listener, None)

    def wake_for_memory(self) -> None:
        """Call the functions of those that may wait for memory.

        See: K-36.
        """
        for listener in tuple(self._for_memory):
            listener()

    def wake(self, key: ShareKey) -> None:
        """Call the functions of a share partition."""
        for listener in tuple(self._listeners.get(key, ())):
            listener()
