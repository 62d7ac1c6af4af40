"""What `bench e2e` counts: from when a request was due until its batch is seen by a reader.

The same process writes and reads, so both ends have one clock. The stamp in the first record says
which request a batch is of; batches of others are not counted.
"""

from __future__ import annotations

from broker_lite.load.lane import Request
from broker_lite.load.recorder import Recorder
from broker_lite.load.stamped import Batch, Stamp, stamp_in


class EndToEnd:
    """The requests whose batches have not been seen yet; a Witness and a Watcher.

    Attributes:
        written_records: acknowledged by the broker, in the whole run.
        repeated: batches that were seen more than once.
        unseen: requests that were acknowledged, and not seen at the end; set by end().
    """

    def __init__(self, run_id: bytes, seen: Recorder, acknowledged: Recorder) -> None:
        """Count nothing yet.

        Args:
            run_id: random; it marks the batches of this process.
            seen: counts what readers see.
            acknowledged: counts the answers to the writers.
        """
        self.written_records = 0
        self.repeated = 0
        self.unseen = 0
        self._run_id = run_id
        self._seen = seen
        self._acknowledged = acknowledged
        self._open: dict[int, int] = {}  # due_ns by number
        self._unacknowledged: set[int] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether batches are to come."""
        return bool(self._open)

    def stamp(self, number: int, due_ns: int) -> bytes:
        """Return the stamp of a request, which leaves now, perhaps again."""
        if number not in self._unacknowledged:  # else it may have been seen already
            self._open[number] = due_ns
            self._unacknowledged.add(number)
        return Stamp(self._run_id, number, due_ns).encode()

    def written(self, request: Request, batch: Batch, now_ns: int) -> None:
        """Note that the broker has acknowledged a request."""
        self._unacknowledged.discard(request.number)
        self.written_records += batch.records
        self._acknowledged.answered(now_ns, request.due_ns, batch.records, len(batch.data))

    def refused(self, number: int) -> None:
        """Note that a request was refused for good, so it will not be seen."""
        self._unacknowledged.discard(number)
        self._open.pop(number, None)

    def see(self, batch: memoryview, records: int, now_ns: int) -> None:
        """Count a batch, if it is one of this run."""
        stamp = stamp_in(batch)
        if stamp is None or stamp.run_id != self._run_id:
            return
        due_ns = self._open.pop(stamp.number, None)
        if due_ns is None:
            self.repeated += 1
        else:
            self._seen.answered(now_ns, due_ns, records, len(batch))

    def end(self, now_ns: int) -> None:
        """Count what was not seen before the end."""
        self.unseen = len(self._open.keys() - self._unacknowledged)
        for due_ns in self._open.values():
            self._seen.open_for(now_ns - due_ns)

    def totals(self) -> dict[str, int]:
        """Return the counts that no recorder has."""
        return {
            "written_records": self.written_records,
            "repeated": self.repeated,
            "unseen": self.unseen,
        }
