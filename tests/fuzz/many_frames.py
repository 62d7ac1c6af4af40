"""Very many frames for a broker, as fast as one client can send them; with sanitizers if wanted.

    python -m tests.fuzz.many_frames --seed 1 --frames 2000000 [--build sanitized|records|ordinary]

Half of the frames are requests with valid shape, made from the schemas of all APIs and versions,
half are such requests with a few bytes changed. Many go into one connection, one behind the other.
After some of them comes a request that is known to be answered: its answer has to come, or the
connection has to be closed. Silence is right only behind a frame that may wait: for the rest of it,
for records, or for other members of a group.

The broker is a new one after each 100,000 frames. `sanitized` is a build of all compiled modules
with sanitizers of addresses and undefined behaviour, `records` one of the Cython modules only. The
stalls are those of an idle client's pings; with sanitizers they say nothing.

A run fails when a sanitizer reports something, the broker logs a traceback or ends, a frame is
followed by silence, or another client waits for more than 50 ms of the broker's processor time each
time that the frames are sent, at most thrice.
"""

import argparse
import random
import socket
import struct
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from broker_lite.handler.table import APIS
from tests.bench.growth import resident_bytes
from tests.fuzz.frames import TOPIC, Frame, FrameGenerator
from tests.fuzz.sanitized_build import build, program, reports
from tests.fuzz.well_behaved import WellBehaved
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.stall_watch import STALL_MS_MAX, StallWatch, until_calm

ROUND_FRAMES: Final = 100_000
SETTINGS: Final = (
    KEEP,
    "auto.create.topics.enable=false",
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=2",
    "transaction.state.log.num.partitions=2",
)
_ORDINARY: Final = (sys.executable, "-m", "broker_lite")
_VALID_AT_ONCE: Final = 64
_DAMAGED_AT_ONCE: Final = 8
_PARKED_MAX: Final = 200
# behind a damaged frame silence may be right, and whoever sends it does not want to wait
_PATIENCE_S: Final = 0.1
_STUCK_S: Final = 60.0
_SENTINEL_ID: Final = 0x7EEDBEEF
_SENTINEL: Final = struct.pack(">ihhih", 10, 18, 0, _SENTINEL_ID, -1)


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    frames: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    connections: int = 0
    peak_bytes: int = 0
    stall_ms: float = 0.0
    seconds: float = 0.0

    def summary(self) -> str:
        """The figures so far."""
        count = self.frames.total()
        return (
            f"{count:,} frames {dict(self.frames)} on {self.connections:,} connections in "
            f"{self.seconds:.0f} s ({count / max(self.seconds, 1e-9):,.0f}/s), at most "
            f"{self.peak_bytes / 1e6:.0f} MB, the longest stall {self.stall_ms:.0f} ms, "
            f"{len(self.faults)} faults"
        )


class Sender:
    """Sends frames of a generator to one broker, over one connection after the other."""

    def __init__(self, port: int, generator: FrameGenerator, found: Findings) -> None:
        self.found = found
        self._port = port
        self._generator = generator
        self._parked: deque[socket.socket] = deque()

    def send_valid(self, count: int) -> None:
        """Send requests with valid shape; those that may have to wait are the last ones each."""
        frames = [self._generator.valid_frame() for _ in range(count)]
        self.found.frames["valid"] += count
        waiting = [frame for frame in frames if frame.may_park]
        self._send([frame for frame in frames if not frame.may_park], may_be_silent=False)
        for frame in waiting:
            self._send([frame], may_be_silent=True, patience_s=0)

    def send_damaged(self, count: int) -> None:
        """Send damaged requests; those behind the one that ends a connection go to the next."""
        left = deque(self._damaged(count))
        self.found.frames["damaged"] += count
        while left:
            frames = [left.popleft() for _ in range(min(_DAMAGED_AT_ONCE, len(left)))]
            answered = self._send(frames, may_be_silent=True, patience_s=_PATIENCE_S)
            left.extendleft(reversed(frames[answered + 1 :]))

    def _damaged(self, count: int) -> Iterator[Frame]:
        for _ in range(count):
            frame = self._generator.frame()
            while frame.kind == "valid":
                frame = self._generator.frame()
            yield frame

    def _send(
        self, frames: Sequence[Frame], *, may_be_silent: bool, patience_s: float = _STUCK_S
    ) -> int:
        """Send frames at once; give how many were answered, all if the sentinel was."""
        self.found.connections += 1
        sock = socket.create_connection(("127.0.0.1", self._port), _STUCK_S)
        try:
            sock.sendall(b"".join(frame.data for frame in frames) + _SENTINEL)
            sock.settimeout(patience_s or 0.001)
            answered, is_last = _answers(sock)
        except TimeoutError:
            if not may_be_silent:
                texts = " ".join(frame.data.hex()[:400] for frame in frames)
                self.found.faults.append(f"silence after {texts}")
            self._park(sock)
            return 0
        except OSError:
            sock.close()
            return 0
        sock.close()
        return len(frames) if is_last else answered

    def _park(self, sock: socket.socket) -> None:
        """Leave a connection waiting for a while."""
        self._parked.append(sock)
        if len(self._parked) > _PARKED_MAX:
            self._parked.popleft().close()

    def close(self) -> None:
        """Close what is left."""
        while self._parked:
            self._parked.popleft().close()


def _answers(sock: socket.socket) -> tuple[int, bool]:
    """Count answers until that of the sentinel, or the end; whether it was the sentinel's.

    Raises:
        TimeoutError: neither comes.
    """
    data = bytearray()
    answered = position = 0
    while True:
        chunk = sock.recv(1 << 18)
        if not chunk:
            return answered, False
        data += chunk
        while len(data) - position >= 8:
            size, correlation_id = struct.unpack_from(">ii", data, position)
            if len(data) - position < 4 + size:
                break
            if correlation_id == _SENTINEL_ID:
                return answered, True
            answered += 1
            position += 4 + size
        del data[:position]
        position = 0


def one_round(
    folder: Path, seed: int, frames: int, command: Sequence[str], *, watches: bool
) -> Findings:
    """Send frames to a new broker."""
    found = Findings()
    began = time.monotonic()
    with BrokerProcess(folder, settings=SETTINGS, program=command) as broker:
        calm = WellBehaved(broker.port, (TOPIC,))
        versions = {key: (api.min_version, api.max_version) for key, api in APIS.items()}
        generator = FrameGenerator(seed, versions, calm.topic_id(TOPIC))
        calm.close()
        sender = Sender(broker.port, generator, found)
        if watches:
            with StallWatch(broker.port, broker.pid) as watch:
                _send_all(sender, broker, frames)
                found.stall_ms = watch.lap().cpu_ms
        else:
            _send_all(sender, broker, frames)
        sender.close()
        if broker.stop() != 0:
            found.faults.append(f"seed {seed}: the broker did not end cleanly")
    found.faults += [f"seed {seed}: {line}" for line in reports(broker.log)]
    if "Traceback" in broker.log:
        at = broker.log.index("Traceback")
        found.faults.append(f"seed {seed}: {broker.log[max(at - 300, 0) : at + 3000]}")
    found.seconds = time.monotonic() - began
    return found


def _round_until_calm(
    folder: Path, seed: int, frames: int, command: Sequence[str], *, watches: bool
) -> Findings:
    """Send the frames of a round, again if another client waits for too long."""
    tries = until_calm(
        lambda number: one_round(
            folder / f"{seed}-{number}", seed, frames, command, watches=watches
        ),
        lambda tries: min(each.stall_ms for each in tries),
    )
    found = min(tries, key=lambda each: each.stall_ms)
    found.faults = [fault for each in tries for fault in each.faults]
    if found.stall_ms > STALL_MS_MAX:
        waited = f"another client waited for {found.stall_ms:.0f} ms each time"
        found.faults.append(f"seed {seed}: {waited}")
    return found


def _send_all(sender: Sender, broker: BrokerProcess, frames: int) -> None:
    found = sender.found
    while (sent := found.frames.total()) < frames:
        try:
            sender.send_valid(min(_VALID_AT_ONCE, frames - sent))
            left = min(_VALID_AT_ONCE, frames - found.frames.total())
            sender.send_damaged(left)
        except ConnectionRefusedError:
            found.faults.append(f"the broker is gone: {broker.log[-3000:]}")
            return
        found.peak_bytes = max(found.peak_bytes, resident_bytes(broker.pid))


def run(
    folder: Path, seed: int, frames: int, command: Sequence[str] = _ORDINARY, *, watches: bool
) -> Findings:
    """Send all frames, to one broker after the other, and show how far it is."""
    total = Findings()
    source = random.Random(seed)
    while (left := frames - total.frames.total()) > 0:
        round_seed = source.randrange(2**31)
        found = _round_until_calm(
            folder, round_seed, min(left, ROUND_FRAMES), command, watches=watches
        )
        total.frames += found.frames
        total.faults += found.faults
        total.connections += found.connections
        total.seconds += found.seconds
        total.peak_bytes = max(total.peak_bytes, found.peak_bytes)
        total.stall_ms = max(total.stall_ms, found.stall_ms)
        sys.stdout.write(f"{total.summary()}\n")
        sys.stdout.flush()
        if found.frames.total() == 0:
            break
    return total


def main() -> int:
    """Run from the command line; 1 when something was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--build", choices=("sanitized", "records", "ordinary"), default="ordinary")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="frames-") as name:
        folder = Path(name)
        command: Sequence[str] = _ORDINARY
        if given.build != "ordinary":
            command = program(build(folder, records_only=given.build == "records"))
        found = run(folder, given.seed, given.frames, command, watches=given.build == "ordinary")
    for fault in found.faults[:20]:
        sys.stdout.write(f"FAULT {fault}\n")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
