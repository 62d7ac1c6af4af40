"""Bytes before and during a TLS hand-shake and an authentication, at a live broker.

    python -m tests.fuzz.secured_frames --seed 1 --frames 100000

Clients of three listeners (SSL, SASL_PLAINTEXT, SASL_SSL) send random bytes, records of TLS with
odd types and lengths, hand-shakes that are cut or have changed bytes, and frames of SASL in any
order, whole, cut and damaged. Then they hang up, or stay for a moment. The broker has to close each
connection whose client has said its last, and to serve one that logs in over TLS as it should.
Afterwards it must live, have logged no traceback, have no descriptor more and not have grown.
"""

import asyncio
import contextlib
import random
import ssl
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from broker_lite.wire import messages
from tests.bench.growth import resident_bytes
from tests.fuzz.half_hand_shakes import descriptors
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Certificates, write_certificates
from tests.support.command import seeded_main
from tests.support.reference_kafka import free_port
from tests.support.stall_watch import NO_STALL, STALL_MS_MAX, Stall, StallWatch, until_calm

GROWTH_BYTES_MAX: Final = 60_000_000
CALM_S_MAX: Final = 20.0
_AT_ONCE: Final = 40
_STUCK_S: Final = 30.0
_GONE_S: Final = 60.0
_MODULE: Final = "org.apache.kafka.common.security."
_PLAIN: Final = f'{_MODULE}plain.PlainLoginModule required user_alice="alice-secret";'
_SCRAM: Final = f"{_MODULE}scram.ScramLoginModule required;"
_OAUTH: Final = f"{_MODULE}oauthbearer.OAuthBearerLoginModule required;"
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "")
_TOKENS: Final = (
    b"\0alice\0alice-secret",
    b"\0alice\0wrong",
    b"n,,n=alice,r=abc",
    b"c=biws,r=abc,p=AAAA",
    b"n,,\x01auth=Bearer eyJhbGciOiJub25lIn0.e30.\x01\x01",
    b"\x01",
    b"",
)


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    frames: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    grown_bytes: int = 0
    checks: int = 0
    slowest_s: float = 0.0
    descriptors: tuple[int, int] = (0, 0)
    stall: Stall = NO_STALL

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.frames.total()} frames {dict(self.frames)} on {self.outcomes.total()} "
            f"connections {dict(self.outcomes)} in {self.seconds:.0f} s; memory grew by "
            f"{self.grown_bytes / 1e6:.1f} MB; descriptors {self.descriptors[0]} before, "
            f"{self.descriptors[1]} after; {self.checks} logins, the slowest {self.slowest_s:.2f} "
            f"s; the longest stall {self.stall}; {len(self.faults)} faults"
        )


class Bytes:
    """What hostile clients send."""

    def __init__(self, seed: int, files: Certificates) -> None:
        self.dice = random.Random(seed)
        self.context = ssl.create_default_context(cafile=files.ca)
        self._hello = self._first_record()
        self._makers: dict[str, Callable[[], bytes]] = {
            "random": lambda: self.dice.randbytes(self.dice.choice((1, 4, 5, 50, 2000))),
            "record": self._record,
            "cut": lambda: self._hello[: self.dice.randrange(1, len(self._hello))],
            "changed": lambda: self._changed(self._hello),
            "sasl": self.sasl,
        }

    def kind(self) -> str:
        """The kind of the next bytes."""
        return self.dice.choice(list(self._makers))

    def make(self, kind: str) -> bytes:
        """Some bytes of a kind."""
        return self._makers[kind]()

    def sasl(self) -> bytes:
        """A frame of the time before authentication; some are damaged."""
        data = self._frame()
        return self._changed(data) if self.dice.random() < 0.3 else data

    def _frame(self) -> bytes:
        which = self.dice.randrange(6)
        if which == 0:
            version = self.dice.choice((0, 1))
            mechanism = self.dice.choice(_MECHANISMS)
            return self.request("SaslHandshake", version, mechanism=mechanism)
        if which == 1:
            token = self.dice.choice(_TOKENS)
            return self.request("SaslAuthenticate", self.dice.randrange(3), auth_bytes=token)
        if which == 2:
            return self.request("ApiVersions", self.dice.randrange(5))
        if which == 3:
            return self.request("Metadata", 4, topics=[])
        token = self.dice.choice((*_TOKENS, self.dice.randbytes(30)))
        size = self.dice.choice((len(token), len(token), 0, -1, 524_288, 524_289, 2**31 - 1))
        return struct.pack(">i", size) + token

    def request(self, name: str, version: int, **fields: object) -> bytes:
        """A whole frame."""
        kind = getattr(messages, f"{name}Request")
        flexible = kind.flexible_from is not None and version >= kind.flexible_from
        head = struct.pack(">hhih", kind.api_key, version, 7, -1) + (b"\0" if flexible else b"")
        data = head + kind.encode(kind(**fields), version)
        return struct.pack(">i", len(data)) + data

    def _record(self) -> bytes:
        """A record of TLS with an odd type, version or length."""
        kind = self.dice.choice((20, 21, 22, 23, 24, 0, 255))
        length = self.dice.choice((0, 1, 4, 100, 16_384, 16_385, 16_640, 65_535))
        content = self.dice.randbytes(self.dice.choice((0, min(length, 300), length)))
        return struct.pack(">BHH", kind, self.dice.choice((0x0301, 0x0303, 0x0304, 0)), length) + (
            content
        )

    def _changed(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.dice.randint(1, 3)):
            changed[self.dice.randrange(len(changed))] = self.dice.choice((0, 255, 128, 22, 1))
        return bytes(changed)

    def _first_record(self) -> bytes:
        sent = ssl.MemoryBIO()
        wrapped = self.context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            wrapped.do_handshake()
        return sent.read()


class Attack:
    """Hostile clients, some at a time, until all frames are sent."""

    def __init__(self, ports: dict[str, int], source: Bytes, frames: int) -> None:
        self.found = Findings()
        self.left = frames
        self._ports = ports
        self._bytes = source
        self._dice = source.dice

    async def client(self) -> None:
        """Use one connection after the other."""
        while self.left > 0:
            count = self._dice.choice((1, 1, 2, 3, 5))
            listener = self._dice.choice(list(self._ports))
            over_tls = listener != "SASL_PLAINTEXT" and self._dice.random() < 0.15
            outcome = await self._connection(listener, count, over_tls=over_tls)
            self.found.outcomes[outcome] += 1
            if outcome == "stuck":
                self.found.faults.append(f"a connection to {listener} stays, {over_tls=}")

    async def _connection(self, listener: str, count: int, *, over_tls: bool) -> str:
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1",
                self._ports[listener],
                ssl=self._bytes.context if over_tls else None,
                server_hostname="localhost" if over_tls else None,
            )
        except (OSError, ssl.SSLError):
            return "refused"
        try:
            async with asyncio.timeout(_STUCK_S):
                return await self._talk(reader, writer, count, over_tls=over_tls)
        except TimeoutError:
            return "stuck"
        except (OSError, ssl.SSLError):
            return "closed"
        finally:
            writer.transport.abort()

    async def _talk(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        count: int,
        *,
        over_tls: bool,
    ) -> str:
        for _ in range(count):
            self.left -= 1
            kind = "sasl" if over_tls else self._bytes.kind()
            self.found.frames[f"{kind} over TLS" if over_tls else kind] += 1
            writer.write(self._bytes.make(kind))
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    if not await reader.read(1 << 16):
                        return "closed"
        if self._dice.random() < 0.3 or over_tls:
            return "left"
        writer.write_eof()
        while await reader.read(1 << 16):
            pass
        return "let go"


async def _log_in(port: int, context: ssl.SSLContext, source: Bytes) -> str | None:
    """Log in over TLS as a well-behaved client; return what is wrong."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )
    try:
        for name, version, fields in (
            ("SaslHandshake", 1, {"mechanism": "PLAIN"}),
            ("SaslAuthenticate", 2, {"auth_bytes": _TOKENS[0]}),
        ):
            writer.write(source.request(name, version, **fields))
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            data = await reader.readexactly(size)
            (code,) = struct.unpack_from(">h", data, 5 if version == 2 else 4)
            if code:
                return f"a login is answered with {code}"
    finally:
        writer.transport.abort()
    return None


async def _stay_calm(port: int, source: Bytes, found: Findings, ended: asyncio.Event) -> None:
    while not ended.is_set():
        began = time.monotonic()
        try:
            async with asyncio.timeout(CALM_S_MAX):
                fault = await _log_in(port, source.context, source)
        except (OSError, TimeoutError, EOFError) as error:
            fault = f"a login fails: {error!r}"
        found.checks += 1
        found.slowest_s = max(found.slowest_s, time.monotonic() - began)
        if fault is not None:
            found.faults.append(fault)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.2)


async def _attack(ports: dict[str, int], source: Bytes, frames: int) -> Findings:
    attack = Attack(ports, source, frames)
    ended = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_stay_calm(ports["SASL_SSL"], source, attack.found, ended))
        async with asyncio.TaskGroup() as clients:
            for _ in range(_AT_ONCE):
                clients.create_task(attack.client())
        ended.set()
    return attack.found


def run(seed: int, frames: int, folder: Path) -> Findings:
    """Send that many frames; again, to a new broker, if another client waits for too long."""

    def attack(number: int) -> Findings:
        own = folder / str(number)
        own.mkdir()
        return _run(seed, frames, own)

    tries = until_calm(attack, lambda tries: min(each.stall.cpu_ms for each in tries))
    found = min(tries, key=lambda each: each.stall.cpu_ms)
    found.faults = [fault for each in tries for fault in each.faults]
    if found.stall.cpu_ms > STALL_MS_MAX:
        found.faults.append(f"another client waited for {found.stall} each time")
    return found


def _run(seed: int, frames: int, folder: Path) -> Findings:
    files = write_certificates(folder)
    source = Bytes(seed, files)
    plain = free_port()
    ports = {name: free_port() for name in ("SSL", "SASL_PLAINTEXT", "SASL_SSL")}
    addresses = {"PLAINTEXT": plain, **ports}
    own = "listener.name.{}.{}.sasl.jaas.config={}"
    settings = [
        "listeners=" + ",".join(f"{name}://127.0.0.1:{port}" for name, port in addresses.items()),
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        *(
            own.format(listener, mechanism, module)
            for listener in ("sasl_plaintext", "sasl_ssl")
            for mechanism, module in (
                ("plain", _PLAIN),
                ("scram-sha-256", _SCRAM),
                ("scram-sha-512", _SCRAM),
                ("oauthbearer", _OAUTH),
            )
        ),
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={files.server}",
        "connection.failed.authentication.delay.ms=10",
    ]
    with BrokerProcess(folder / "data", settings=settings, port=plain) as broker:
        asyncio.run(_attack(ports, source, min(frames, 500)))  # what is made once
        _wait_until_gone(broker.pid, 0)
        before, memory_before = descriptors(broker.pid), resident_bytes(broker.pid)
        began = time.monotonic()
        with StallWatch(broker.port, broker.pid) as watch:
            found = asyncio.run(_attack(ports, source, frames))
            found.stall = watch.lap()
        found.seconds = time.monotonic() - began
        after = _wait_until_gone(broker.pid, before)
        found.descriptors = before, after
        found.grown_bytes = resident_bytes(broker.pid) - memory_before
        _judge(found, broker)
    return found


def _wait_until_gone(pid: int, wanted: int) -> int:
    """Wait until there are no more descriptors than wanted, or no fewer for a while."""
    deadline = time.monotonic() + (_GONE_S if wanted else 2.0)
    while (count := descriptors(pid)) > wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    return count


def _judge(found: Findings, broker: BrokerProcess) -> None:
    before, after = found.descriptors
    if after > before:
        found.faults.append(f"{after - before} descriptors do not come back")
    if found.grown_bytes > GROWTH_BYTES_MAX:
        found.faults.append(f"memory grew by {found.grown_bytes} bytes")
    if "Traceback" in broker.log:
        found.faults.append(broker.log[broker.log.index("Traceback") - 300 :][:3000])


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="frames", default=100_000))
