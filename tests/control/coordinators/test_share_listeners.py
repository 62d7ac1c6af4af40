"""Who is woken when records of a share partition may have become available."""

from broker_lite.control.coordinators.share_listeners import Listener, ShareListeners
from broker_lite.coordinator.share_records.states import ShareKey

KEY = ShareKey("g", b"t" * 16, 0)
OTHER = KEY._replace(partition=1)


def two_listeners(listeners: ShareListeners, woken: list[str]) -> tuple[Listener, Listener]:
    """Note who is woken; the second one removes itself then, while all are woken."""

    def first() -> None:
        woken.append("first")

    def second() -> None:
        woken.append("second")
        listeners.remove([KEY], second)

    return first, second


def test_listeners_are_woken_until_they_are_removed() -> None:
    listeners, woken = ShareListeners(), list[str]()
    first, second = two_listeners(listeners, woken)
    listeners.add([KEY, OTHER], first)
    listeners.add([KEY], first)
    listeners.add([KEY], second)
    listeners.wake(KEY)
    assert woken == ["first", "second"]
    listeners.wake(KEY)
    listeners.wake(OTHER)
    assert woken == ["first", "second", "first", "first"]
    listeners.remove([KEY, OTHER, ShareKey("x", b"", 0)], first)
    listeners.wake(KEY)
    assert len(woken) == 4


def test_k36_who_may_wait_for_memory_is_woken_when_there_is_some() -> None:
    listeners, woken = ShareListeners(), list[str]()
    first, second = two_listeners(listeners, woken)
    listeners.add([KEY, OTHER], first)
    listeners.add([KEY], second)
    listeners.wake_for_memory()
    assert woken == ["first", "second"]
    listeners.wake_for_memory()
    assert woken == ["first", "second", "first"]
    listeners.stop_for_memory(first)
    listeners.stop_for_memory(first)
    listeners.wake_for_memory()
    assert len(woken) == 3
    listeners.wake(OTHER)
    assert len(woken) == 4
