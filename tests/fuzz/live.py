"""Random and damaged frames on many connections of a live broker.

    python -m tests.fuzz.live --seed 1 --frames 100000

Each connection sends a few frames at once, in pieces, and then a request that is known to be
answered: the answer has to come, or the connection has to be closed. Silence is right only while
the rest of a frame, or a long poll, is waited for; then the client hangs up, and the broker has to
let go. Other clients leave without a word, or stay with half a frame.

Meanwhile a well-behaved client produces and fetches on a connection of its own: its answers must
not change. Afterwards the broker must live, have logged no traceback, hold no connection, not have
grown, and stop within a second though clients with half frames are connected.
"""

import asyncio
import contextlib
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from tests.bench.growth import resident_bytes
from tests.fuzz.frames import TOPIC, Frame, FrameGenerator
from tests.fuzz.well_behaved import WellBehaved
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.command import seeded_main
from tests.support.stall_watch import NO_STALL, Stall, StallWatch

CONNECTIONS: Final = 50
HALF_OPEN: Final = 40
PARKED_S: Final = 0.1
STUCK_S: Final = 15.0
CALM_S: Final = 5.0
STOP_S: Final = 1.0
GROWTH_BYTES_MAX: Final = 100_000_000
SETTINGS: Final = (KEEP, "auto.create.topics.enable=false", "connections.max.idle.ms=12000")
T = TypeVar("T")
_SENTINEL_ID: Final = 0x7EEDBEEF
_SENTINEL: Final = struct.pack(">ihhih", 10, 18, 0, _SENTINEL_ID, -1)


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    frames: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    grown_bytes: int = 0
    calm_checks: int = 0
    calm_seconds_max: float = 0.0
    stop_seconds: float = 0.0
    stall: Stall = NO_STALL

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{sum(self.frames.values())} frames {dict(self.frames)} on "
            f"{sum(self.outcomes.values())} connections {dict(self.outcomes)}: {self.seconds:.0f} "
            f"s, memory grew by {self.grown_bytes / 1e6:.1f} MB, {self.calm_checks} checks of the "
            f"well-behaved client, the slowest {self.calm_seconds_max:.2f} s, stopped in "
            f"{self.stop_seconds:.2f} s, the longest stall {self.stall}, {len(self.faults)} faults"
        )


class Calm(Protocol):
    """A well-behaved client, or several; what they return is what was wrong."""

    def check(self) -> str | None:
        """Do what clients do."""

    def check_all(self) -> str | None:
        """Look whether everything is still there."""


class Attack:
    """The hostile clients; CONNECTIONS of them at a time, until all frames are sent."""

    def __init__(self, port: int, seed: int, frames: int, generator: FrameGenerator) -> None:
        self.found = Findings()
        self.reload(frames)
        self.port = port
        self._random = random.Random(seed)
        self._generator = generator

    def reload(self, frames: int) -> None:
        """Have this many frames to send."""
        self.left = frames
        self.half_sent = asyncio.Event()
        self._half = frames // 2

    async def client(self) -> None:
        """Use one connection after the other."""
        while self.left > 0:
            count = min(self._random.choice((1, 1, 1, 2, 4)), self.left)
            self.left -= count
            if self.left <= self._half:
                self.half_sent.set()
            # only the last one may be damaged: most of those are the end of their connection
            frames = [self._generator.valid_frame() for _ in range(count - 1)]
            frames.append(self._generator.frame())
            self.found.frames.update(frame.kind for frame in frames)
            outcome = await self._connection(frames)
            self.found.outcomes[outcome] += 1
            if outcome == "stuck":
                sent = " ".join(f"{frame.kind}:{frame.data.hex()[:2000]}" for frame in frames)
                self.found.faults.append(f"stuck after {sent}")

    async def _connection(self, frames: list[Frame]) -> str:
        """Give `answered`, `closed`, `let go` (after silence that was right), `left` or `stuck`."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(STUCK_S):
                await self._send(writer, b"".join(frame.data for frame in frames))
                if self._random.random() < 0.05:
                    return "left"
                await self._send(writer, _SENTINEL)
            return await self._outcome(reader, writer, any(frame.may_park for frame in frames))
        except TimeoutError:
            return "stuck"
        except OSError:
            return "closed"
        finally:
            await _close(writer, abort=self._random.random() < 0.5)

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Send at once, or in a few pieces that arrive one by one."""
        cuts = sorted(self._random.randrange(len(data)) for _ in range(self._random.choice((0, 3))))
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            writer.write(data[start:end])
            await writer.drain()
            await asyncio.sleep(0)

    async def _outcome(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, may_park: bool
    ) -> str:
        try:
            async with asyncio.timeout(PARKED_S if may_park else STUCK_S):
                return await self._answers(reader)
        except TimeoutError:
            if not may_park:
                return "stuck"
        writer.write_eof()
        async with asyncio.timeout(STUCK_S):
            while await reader.read(1 << 16):
                pass
        return "let go"

    async def _answers(self, reader: asyncio.StreamReader) -> str:
        """Read answers until that of the sentinel, or the end."""
        correlation_id = 0
        while correlation_id != _SENTINEL_ID:
            try:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                data = await reader.readexactly(size)
            except asyncio.IncompleteReadError:
                return "closed"
            (correlation_id,) = struct.unpack_from(">i", data)
            self._generator.answered(correlation_id, data)
        return "answered"


async def _close(writer: asyncio.StreamWriter, *, abort: bool) -> None:
    if abort:
        writer.transport.abort()
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _stay_calm(calm: Calm, found: Findings, ended: asyncio.Event) -> None:
    while not ended.is_set():
        began = time.monotonic()
        fault = await asyncio.to_thread(calm.check)
        seconds = time.monotonic() - began
        found.calm_checks += 1
        found.calm_seconds_max = max(found.calm_seconds_max, seconds)
        if fault is None and seconds > CALM_S:
            fault = f"the well-behaved client waited for {seconds:.1f} s"
        if fault is not None:
            found.faults.append(fault)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.1)


async def calmly(found: Findings, calm: Calm, work: Coroutine[Any, Any, T]) -> T:
    """Do something beside well-behaved clients."""
    ended = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_stay_calm(calm, found, ended))
        result = await work
        ended.set()
    return result


async def send_all(hostile: Attack, calm: Calm, pid: int) -> None:
    """Attack, beside well-behaved clients."""
    found, began = hostile.found, time.monotonic()

    async def attack() -> None:
        async with asyncio.TaskGroup() as clients:
            for _ in range(CONNECTIONS):
                clients.create_task(hostile.client())
            await hostile.half_sent.wait()
            found.grown_bytes = -resident_bytes(pid)
        found.grown_bytes += resident_bytes(pid)

    with StallWatch(hostile.port, pid) as watch:
        await calmly(found, calm, attack())
        found.stall = found.stall.longest(await asyncio.to_thread(watch.lap))
    found.seconds += time.monotonic() - began


def run(seed: int, frames: int, folder: Path) -> Findings:
    """Send the frames of a seed to a broker of its own."""
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        calm = WellBehaved(broker.port, (TOPIC,))
        generator = FrameGenerator(seed, calm.versions(), calm.topic_id(TOPIC))
        sockets = open_sockets(broker.pid)
        hostile = Attack(broker.port, seed, frames, generator)
        asyncio.run(send_all(hostile, calm, broker.pid))
        check_afterwards(hostile.found, broker, calm, sockets)
        calm.close()
        asyncio.run(stop(hostile.found, broker, generator))
    return hostile.found


def open_sockets(pid: int) -> int:
    """How many sockets a process has open."""
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += "socket" in str(link.readlink())
    return count


def check_afterwards(found: Findings, broker: BrokerProcess, calm: Calm, sockets: int) -> None:
    """Look whether an attack has left something behind."""
    deadline = time.monotonic() + STUCK_S
    while open_sockets(broker.pid) > sockets and time.monotonic() < deadline:
        if fault := calm.check():  # its sessions go on
            found.faults.append(fault)
            return
        time.sleep(0.05)
    if (held := open_sockets(broker.pid)) > sockets:
        found.faults.append(f"{held} sockets are open, {sockets} before")
    if fault := calm.check_all():
        found.faults.append(fault)
    if found.grown_bytes > GROWTH_BYTES_MAX:
        found.faults.append(f"memory grew by {found.grown_bytes} bytes")


async def stop(found: Findings, broker: BrokerProcess, generator: FrameGenerator) -> None:
    """Stop the broker while clients with half frames are connected."""
    writers = []
    for _ in range(HALF_OPEN):
        _, writer = await asyncio.open_connection("127.0.0.1", broker.port)
        writers.append(writer)
        writer.write(generator.half_frame())
        await writer.drain()
    began = time.monotonic()
    code = await asyncio.to_thread(broker.stop)
    found.stop_seconds = time.monotonic() - began
    for writer in writers:
        await _close(writer, abort=True)
    if code != 0 or found.stop_seconds > STOP_S:
        found.faults.append(f"stopped with {code} after {found.stop_seconds:.2f} s")
    if "Traceback" in broker.log:
        found.faults.append(broker.log[broker.log.index("Traceback") - 200 :][:4000])


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="frames", default=100_000)


if __name__ == "__main__":
    sys.exit(main())
