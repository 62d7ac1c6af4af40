"""Whether the time until a login is refused tells if there is such a user.

    python -m tests.fuzz.login_timing --seed 1 --samples 2000

For each mechanism, logins with a wrong password and logins of unknown users come in random order,
each on a connection of its own. The times from the refused message to its answer are compared by
the rank-sum statistic of Mann and Whitney. If both are of the same kind, it is a number near 0: of
4 and more in one case of 16,000. The difference of the medians is printed beside it; less than
DIFFERENCE_US_MAX is noise for whoever asks over a network.

SCRAM refuses an unknown user one message earlier, as in Kafka, so who counts messages needs no
clock. What is compared is how long the refusal itself takes.
"""

import base64
import random
import socket
import statistics
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.differential.compare_sasl import PREFIX, SASL_SETTINGS, upsertion
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

SCORE_MAX: Final = 4.0
DIFFERENCE_US_MAX: Final = 20.0
_REFUSED: Final = 58
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_WAIT_S: Final = 20.0
_PROOF_BYTES: Final = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}


@dataclass(slots=True)
class Compared:
    """Two samples of one mechanism: the score, and the medians in microseconds."""

    score: float
    known_us: float
    unknown_us: float

    @property
    def tells(self) -> bool:
        """Whether they differ beyond noise."""
        is_far = abs(self.known_us - self.unknown_us) > DIFFERENCE_US_MAX
        return is_far and abs(self.score) > SCORE_MAX


@dataclass(slots=True)
class Findings:
    """What a run saw, by mechanism."""

    compared: dict[str, Compared] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return "\n".join(
            f"{mechanism}: wrong password {one.known_us:.1f} us, unknown user {one.unknown_us:.1f} "
            f"us, rank-sum score {one.score:+.1f}"
            for mechanism, one in self.compared.items()
        )


class Login:
    """A client that is refused."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), _WAIT_S)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def refused_after_us(self, mechanism: str, user: str) -> float:
        """How long the refusal took, in microseconds."""
        with self._sock:
            self._ask("SaslHandshake", 1, mechanism=mechanism)
            if mechanism == "PLAIN":
                return self._timed(f"\0{user}\0wrong-password".encode())
            first = f"n,,n={user},r=clientnonce".encode()
            if user == "carol":
                told = self._ask("SaslAuthenticate", 1, auth_bytes=first).auth_bytes
                nonce = bytes(told).partition(b",")[0].decode()
                proof = base64.b64encode(bytes(_PROOF_BYTES[mechanism])).decode()
                return self._timed(f"c=biws,{nonce},p={proof}".encode())
            return self._timed(first)

    def _timed(self, token: bytes) -> float:
        began = time.perf_counter_ns()
        answer = self._ask("SaslAuthenticate", 1, auth_bytes=token)
        took_us = (time.perf_counter_ns() - began) / 1000
        assert answer.error_code == _REFUSED
        return took_us

    def _ask(self, name: str, version: int, **fields: object) -> Any:
        kind = getattr(messages, f"{name}Request")
        body = struct.pack(">hhih", kind.api_key, version, 1, -1)
        body += kind.encode(kind(**fields), version)
        self._sock.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", self._read(4))
        data = self._read(size)
        return getattr(messages, f"{name}Response").decode(data, version, 4)[0]

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._sock.recv(count - len(data))
            assert chunk
            data += chunk
        return data


def compare(known: Sequence[float], unknown: Sequence[float]) -> Compared:
    """Compare two samples by their ranks."""
    ranked = sorted([(value, True) for value in known] + [(value, False) for value in unknown])
    rank_sum = sum(rank for rank, (_, is_known) in enumerate(ranked, 1) if is_known)
    count, other = len(known), len(unknown)
    expected = count * (count + other + 1) / 2
    deviation = (count * other * (count + other + 1) / 12) ** 0.5
    return Compared(
        (rank_sum - expected) / deviation, statistics.median(known), statistics.median(unknown)
    )


def run(seed: int, samples: int, folder: Path) -> Findings:
    """Take that many samples of each kind, for each mechanism."""
    dice, found = random.Random(seed), Findings()
    plain, secured = free_port(), free_port()
    settings = {
        **SASL_SETTINGS,
        PREFIX + "plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule"
        ' required user_carol="carol-secret";',
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{secured}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "connection.failed.authentication.delay.ms": "0",
    }
    with Broker(settings, data_dir=folder / "data"):
        with RawClient("127.0.0.1", plain) as client:
            for name in _PROOF_BYTES:
                new = upsertion("carol", name, "carol-secret")
                client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[new])
        for mechanism in _MECHANISMS:
            times: dict[str, list[float]] = {"carol": [], "nobody": []}
            users = [user for user in times for _ in range(samples)]
            dice.shuffle(users)
            for user in users:
                times[user].append(Login(secured).refused_after_us(mechanism, user))
            compared = found.compared[mechanism] = compare(times["carol"], times["nobody"])
            if mechanism == "PLAIN" and compared.tells:
                found.faults.append(f"{mechanism}: the time tells whether there is a user")
    return found


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="samples", default=2000))
