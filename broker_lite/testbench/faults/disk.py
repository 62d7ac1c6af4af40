"""Faults of the disk under the log: writes that fail or are cut off, fsyncs that fail or are slow.

Rules are about the files with batches of topics, also of `__consumer_offsets` and
`__transaction_state`, but not of `__cluster_metadata`. They act while clients are served: a start,
a stop and a reset have a disk that works. Only while a rule is in force does the log call this
module instead of the operating system.
"""

import asyncio
import fcntl
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Final, cast

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.log.files import disk_calls
from broker_lite.log.files.names import METADATA_TOPIC
from broker_lite.testbench.facts import Entities, Facts
from broker_lite.testbench.faults.fault import Fault

logger = logging.getLogger("broker_lite.testbench")

_FILE: Final = re.compile(r"([^/]+)-([0-9]+)/[0-9]{20}\.log")
_NO_NODE: Final = -1


class _Call:
    """What is known of a call of the disk; the part of Facts that its rules look at.

    Attributes:
        name: "write" or "fsync".
        path: of the file.
        size_bytes: of a write.
        entities: the topic and the partition.
        cluster: of the life in which it is made.
    """

    def __init__(
        self, name: str, path: str, partition: tuple[str, int], cluster: Cluster, size_bytes: int
    ) -> None:
        self.name = name
        self.path = path
        self.size_bytes = size_bytes
        self.entities = Entities()
        self.entities.add_partitions([partition])
        self._partition = partition
        self.cluster = cluster

    def __str__(self) -> str:  # type: ignore[explicit-override]
        topic, number = self._partition
        return f"{self.name} of {topic}-{number}"

    @cached_property
    def node_id(self) -> int:
        """The broker that leads the partition, whose disk it is."""
        topic, number = self._partition
        known = self.cluster.topics.get(topic)
        if known is None or number >= known.partition_count:  # it was just deleted
            return _NO_NODE
        return known.partitions[number].leader


class Disk:
    """The disk as the log sees it while rules are about it.

    Writes are made in the event loop's thread, fsyncs mostly in others.

    Attributes:
        faults: those with `disk`, in their order.
    """

    def __init__(self, took: Callable[[Fault], None], settle: Callable[[], None]) -> None:
        """Begin without a rule.

        Args:
            took: called in the event loop's thread with each fault that has acted.
            settle: called there when a fault is over because its time is.
        """
        self.faults: Sequence[Fault] = ()
        self._took = took
        self._settle = settle
        self._is_used = False
        self._cluster: Cluster | None = None
        self._root = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._deciding = threading.Lock()
        # Told when fsyncs that are slow have to go on.
        self._released = threading.Condition()
        # Files whose last write was cut off, with the error of the next one.
        self._full: dict[str, int] = {}

    # -- for the test bench

    def begin(self, cluster: Cluster) -> None:
        """Take part in a life, from the thread of its event loop on."""
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._root = os.path.realpath(cluster.logs.data_dir) + "/"
        self._cluster = cluster

    def end(self) -> None:
        """Let go of a life that ends; from now on the disk works, and slow fsyncs go on."""
        self._cluster = None
        self.removed()
        self._put()

    def use(self, faults: Sequence[Fault]) -> None:
        """Take the rules that are in force now; without any, the log calls the system again."""
        self.faults = faults
        self._put()

    def _put(self) -> None:
        """Take the place of the system's calls, or give it back."""
        is_used = bool(self.faults or self._full)
        if is_used == self._is_used:
            return
        self._is_used = is_used
        if is_used:
            sync, sync_data = partial(self._sync, os.fsync), partial(self._sync, os.fdatasync)
            disk_calls.take_over(self._write, sync, sync_data)
        else:
            disk_calls.give_back()

    def removed(self) -> None:
        """Note that rules were removed: fsyncs that are slow because of them go on."""
        self._full.clear()
        with self._released:
            self._released.notify_all()

    # -- for the log

    def _write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        call = self._call("write", fd, len(data))
        if call is None:
            return os.pwrite(fd, data, position)
        number = self._full.pop(call.path, None)
        if number is not None:
            self._put()
            raise _error(number, call)
        fault = self._fault_of(call)
        if fault is None:
            return os.pwrite(fd, data, position)
        number = fault.rule.disk_error
        assert number is not None
        if fault.rule.room_bytes is None:
            raise _error(number, call)
        return os.pwrite(fd, memoryview(data)[: fault.rule.room_bytes], position)

    def _sync(self, sync: disk_calls.Sync, fd: int) -> None:
        call = self._call("fsync", fd)
        fault = None if call is None else self._fault_of(call)
        if call is None or fault is None:
            sync(fd)
            return
        if fault.rule.delay_ms is not None and not self._is_in_loop:
            self._wait(fault, call.cluster)
        number = fault.rule.disk_error
        if number is not None and self._cluster is call.cluster:
            raise _error(number, call)
        sync(fd)

    def _wait(self, fault: Fault, cluster: Cluster) -> None:
        """Take as long as a rule says, or until it is removed or the life ends."""
        with self._deciding:
            delay_s = fault.schedule.delay_ms() / 1000
        with self._released:
            self._released.wait_for(
                lambda: fault.is_removed or self._cluster is not cluster, delay_s
            )

    def _call(self, name: str, fd: int, size_bytes: int = 0) -> _Call | None:
        """Return what is known of a call; None if no rule is about such a file."""
        cluster = self._cluster
        if cluster is None:
            return None
        path = _path_of(fd)
        found = _FILE.fullmatch(path.removeprefix(self._root))
        if found is None or found[1] == METADATA_TOPIC:
            return None
        return _Call(name, path, (found[1], int(found[2])), cluster, size_bytes)

    # -- decisions

    @property
    def _is_in_loop(self) -> bool:
        return threading.get_ident() == self._loop_thread

    def _fault_of(self, call: _Call) -> Fault | None:
        """Return the first rule that acts on a call."""
        with self._deciding:
            for fault in self.faults:
                if fault.rule.disk != call.name:
                    continue
                if fault.is_over:
                    self._in_loop(self._settle)
                elif self._takes(fault, call):
                    if fault.rule.room_bytes is not None and fault.rule.disk_error is not None:
                        # A full disk tells how much it took, and fails when the rest comes.
                        self._full[call.path] = fault.rule.disk_error
                    self._in_loop(partial(self._note, fault))
                    return fault
        return None

    def _takes(self, fault: Fault, call: _Call) -> bool:
        facts, rule = cast(Facts, call), fault.rule
        reason = ""
        if rule.room_bytes is not None and call.size_bytes <= rule.room_bytes:
            reason = f"there is room for its {call.size_bytes} bytes"
        elif rule.disk_error is None and self._is_in_loop:
            reason = "all clients would wait for it"
        if not reason:
            return fault.takes(facts)
        if not fault.hits:
            fault.miss(facts, fault.matcher.mismatches(facts), reason)
        return False

    def _note(self, fault: Fault) -> None:
        logger.info("fault %s acts on the disk", fault.id)
        self._took(fault)

    def _in_loop(self, function: Callable[[], None]) -> None:
        """Have a function called in the event loop's thread, at once if this is it."""
        if self._loop is None or self._is_in_loop:
            function()
            return
        with suppress(RuntimeError):  # the loop is closed, and nobody looks any more
            self._loop.call_soon_threadsafe(function)


def _path_of(fd: int) -> str:
    """Return the name that an open file has now; empty if the system does not tell it."""
    try:
        if sys.platform == "darwin":
            return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def _error(number: int, call: _Call) -> OSError:
    return OSError(number, os.strerror(number), call.path)
