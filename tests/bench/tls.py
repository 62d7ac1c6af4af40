"""What TLS costs: broker-lite and Apache Kafka side by side, with one raw load client.

    python -m tests.bench.tls [--scale 1.0] [--rounds 3] [--cases fetch]

As tests.bench.cost measures it: a warm-up, then the best of three rounds, the brokers taking turns;
CPU is the broker process's user and system time. Both have the same key and certificate, and agree
on the same version and cipher suite. A hand-shake is a whole one, without a session from before.
"""

import socket
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.cost import MIB, MIDDLE, Case, Target, row, run_case
from tests.bench.load_client import LoadClient, TlsLoadClient, cpu_s
from tests.bench.options import begin
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Certificates, write_certificates
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka, free_port

CASES: Final = (
    Case(name="TLS produce 16KB", batch=MIDDLE, requests=20_000, in_flight=5, bound=0.60),
    Case(
        name="TLS fetch 1 MB",
        batch=MIDDLE,
        requests=2_000,
        in_flight=3,
        bound=0.80,
        max_bytes=MIB,
    ),
)
HAND_SHAKES: Final = "TLS hand-shakes"
_HAND_SHAKES_OF_ROUND: Final = 2000
_PROTOCOLS: Final = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL"
_WAIT_S: Final = 60


class TlsTarget(NamedTuple):
    """One running broker, and where it speaks TLS."""

    target: Target
    tls_port: int


def _settings(files: Certificates) -> dict[str, str]:
    return {
        "listener.security.protocol.map": _PROTOCOLS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
        "log.segment.delete.delay.ms": "0",
    }


@contextmanager
def targets(
    folder: Path, files: Certificates, context: ssl.SSLContext, *, with_kafka: bool
) -> Iterator[list[TlsTarget]]:
    """Start the brokers that are asked for."""
    plain, tls_port, kafka_tls_port = free_port(), free_port(), free_port()
    listeners = f"listeners=PLAINTEXT://127.0.0.1:{plain},TLS://127.0.0.1:{tls_port}"
    settings = [f"{name}={text}" for name, text in _settings(files).items()]
    with BrokerProcess(folder / "ours", settings=[listeners, *settings], port=plain) as ours:
        connect = partial(TlsLoadClient, "127.0.0.1", tls_port, context)
        target = Target("broker-lite", ours.port, ours.pid, ours.data_dir, connect)
        found = [TlsTarget(target, tls_port)]
        if not with_kafka:
            yield found
            return
        with ReferenceKafka(
            folder / "kafka",
            settings=_settings(files),
            heap="1500m",
            more_listeners=f",TLS://127.0.0.1:{kafka_tls_port}",
        ) as kafka:
            connect = partial(TlsLoadClient, "127.0.0.1", kafka_tls_port, context)
            target = Target("kafka", kafka.port, kafka.pid, kafka.log_dir, connect)
            found.append(TlsTarget(target, kafka_tls_port))
            yield found


def hand_shakes_per_cpu_s(broker: TlsTarget, context: ssl.SSLContext, count: int) -> float:
    """How many hand-shakes a broker does in a second of processor time."""
    before = cpu_s(broker.target.pid)
    for _ in range(count):
        sock = socket.create_connection(("127.0.0.1", broker.tls_port), _WAIT_S)
        context.wrap_socket(sock, server_hostname="localhost").close()
    with RawClient("127.0.0.1", broker.target.port) as client:  # behind the last of them
        client.call("ApiVersions", 0)
    return count / max(cpu_s(broker.target.pid) - before, 0.01)


def hand_shakes(
    brokers: list[TlsTarget], context: ssl.SSLContext, scale: float, rounds: int
) -> str:
    """One line: the best of the rounds, after a warm-up."""
    count = max(int(_HAND_SHAKES_OF_ROUND * scale), 10)
    figures = [0.0 for _ in brokers]
    for number in range(rounds + 1):
        for index, broker in enumerate(brokers):
            rate = hand_shakes_per_cpu_s(broker, context, count)
            figures[index] = max(figures[index], rate if number else 0.0)
    cells = [f"{figure:9.0f} per CPU second" for figure in figures]
    if len(figures) == 2:
        cells.append(f"x {figures[0] / figures[1]:.2f}")
    return f"{HAND_SHAKES:16} | " + " | ".join(cells)


def main() -> int:
    """Run from the command line."""
    options = begin(__doc__)
    with tempfile.TemporaryDirectory(prefix="tls-") as name:
        folder = Path(name)
        files = write_certificates(folder)
        context = ssl.create_default_context(cafile=files.ca)
        with targets(folder, files, context, with_kafka=not options.alone) as brokers:
            _print_cipher(context, brokers)
            for case in CASES:
                if options.cases in case.name:
                    each = [broker.target for broker in brokers]
                    found = run_case(case, each, options.scale, options.rounds, folder)
                    print(row(case, found), flush=True)
            if options.cases in HAND_SHAKES:
                print(hand_shakes(brokers, context, options.scale, options.rounds), flush=True)
    return 0


def _print_cipher(context: ssl.SSLContext, brokers: list[TlsTarget]) -> None:
    """Print what each broker agrees on, above its column."""
    cells = []
    for broker in brokers:
        client: LoadClient = TlsLoadClient("127.0.0.1", broker.tls_port, context)
        assert isinstance(client.socket, ssl.SSLSocket)
        cells.append(f"{broker.target.name} {client.socket.cipher()}")
        client.close()
    print(" | ".join(cells))


if __name__ == "__main__":
    sys.exit(main())
