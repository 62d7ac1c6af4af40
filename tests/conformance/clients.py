"""The clients that are tested, and the programs of each.

member: joins `group` and reads `topic`, with its `protocol` (classic or consumer), `assignor`,
    `instance`, `isolation`, `session_ms` and `heartbeat_ms`. Prints `assigned P,P`, all that it
    has, at each change, `read P OFFSET VALUE` before and `committed P OFFSET` or `refused ERROR`
    after a commit, if the client tells.
    `reset` is where it begins without a committed offset: earliest, latest or none.
    Commands: seek P OFFSET.
writer: writes to `topic` with its `acks`, `idempotent`, `request_ms` and `delivery_ms`.
    Commands: send P VALUE, which answers P OFFSET; leaders, which answers P:NODE of each partition;
    load PARTITIONS, which writes 0, 1, 2, ... to each until stop, and prints `acked P OFFSET VALUE`
    and `lost P VALUE ERROR`.
reader: reads `count` records of the synthetic `topic`, whose runs have `run` records, and checks
    offsets and values. Ends by itself.
administrator: executes list, state GROUP, offsets GROUP, alter GROUP TOPIC P OFFSET, forget GROUP
    TOPIC P, delete GROUP, as far as the client can.
transactor: writes to `topic` under `transactional_id`, with `timeout_ms`. Commands: init, begin,
    send P VALUE, offset GROUP TOPIC P OFFSET, commit, abort.
transform: a member that writes each record of `topic` as `P:OFFSET` to `output`, in transactions
    with its positions. Prints `moved COUNT` and `gave_up ERROR`.
sharer: joins the share `group` and reads `topic`, at most `max` records at a time. Commands:
    take MILLISECONDS, which polls once, prints `got P OFFSET VALUE DELIVERIES` for each record and
    answers their number; say KIND VALUE..., which accepts, releases, rejects or renews records of
    the last take; commit, which sends what was said and answers when the broker has. In the `mode`
    implicit, take and commit accept what nothing was said of; in the mode explicit, something is
    said of all records before the next take.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Final, NamedTuple

from tests.support.reference_kafka import jars
from tests.support.toolchain import require, user_cache

HERE: Final = Path(__file__).parent
TIMEOUT_S: Final = 240
# Rust's compiler takes 75 s of processor time for all crates, where nothing is cached.
RUST_TIMEOUT_S: Final = 800


class Mode(NamedTuple):
    """How the members of a group come to their partitions."""

    assignor: str = "range"
    protocol: str = "classic"
    is_static: bool = False

    def __str__(self) -> str:
        name = self.protocol if self.protocol == "consumer" else self.assignor
        return f"{name}-static" if self.is_static else name


RANGE: Final = Mode()
COOPERATIVE: Final = Mode("cooperative")
STATIC: Final = Mode(is_static=True)
CONSUMER: Final = Mode("uniform", "consumer")
CONSUMER_STATIC: Final = Mode("uniform", "consumer", is_static=True)


class Client(NamedTuple):
    """One client.

    Attributes:
        needs: programs that this machine must have.
        modes: of its groups.
        administers: the commands of its administrator.
        has_transactions: whether it has the programs transactor and transform.
        commits_offsets_alone: whether its transactor has the command offset.
    """

    name: str
    needs: tuple[str, ...]
    modes: tuple[Mode, ...]
    administers: frozenset[str]
    has_transactions: bool = False
    commits_offsets_alone: bool = True


_READS: Final = frozenset({"list", "state", "offsets"})
CLIENTS: Final = (
    Client(
        "confluent",
        (),
        (RANGE, COOPERATIVE, STATIC, CONSUMER, CONSUMER_STATIC),
        _READS | {"alter", "delete"},
        has_transactions=True,
    ),
    Client("aiokafka", (), (RANGE, Mode("sticky"), STATIC), _READS, has_transactions=True),
    Client(
        "kafka_python", (), (RANGE, COOPERATIVE, STATIC), _READS | {"alter", "forget", "delete"}
    ),
    Client(
        "java",
        ("java", "javac", "mvn"),
        (RANGE, COOPERATIVE, STATIC, CONSUMER, CONSUMER_STATIC),
        _READS | {"alter", "forget", "delete"},
        has_transactions=True,
    ),
    Client(
        "franz",
        ("go",),
        (RANGE, COOPERATIVE, STATIC, CONSUMER),
        _READS | {"alter", "forget", "delete"},
        has_transactions=True,
        commits_offsets_alone=False,
    ),
    Client("kafkajs", ("node", "npm"), (Mode("round-robin"),), _READS | {"alter", "delete"}),
    Client("sarama", ("go",), (RANGE, STATIC), _READS | {"forget", "delete"}),
)
TRANSACTIONAL: Final = tuple(client for client in CLIENTS if client.has_transactions)


def run(
    *command: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: int = TIMEOUT_S,
) -> str:
    """Run a program to its end, which must be a good one, and return what it printed."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


class Builds:
    """What the programs are built into; each language once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.java = cache(self._build_java)
        self.go = cache(self._build_go)
        self.node = cache(self._build_node)
        self.rust = cache(self._build_rust)

    def command(self, client: Client, role: str) -> list[str]:
        """The command line of a client's program."""
        require(*client.needs)
        match client.name:
            case "java":
                return [*self.java(), role.title()]
            case "franz" | "sarama":
                return [str(self.go() / client.name), role]
            case "kafkajs":
                return ["node", str(self.node() / f"{role}.js")]
            case name:
                return [sys.executable, "-m", f"tests.conformance.python.{name}_{role}"]

    def secured(self, name: str) -> list[str]:
        """The command line of a client's program for secured listeners."""
        match name:
            case "java":
                return [*self.java(), "-Xmx512m", "Secured"]
            case "franz" | "sarama":
                return [str(self.go() / name), "secured"]
            case "kafkajs":
                return ["node", str(self.node() / "secured.js")]
            case "rskafka":
                return [str(self.rust() / "secured")]
            case _:
                return [sys.executable, "-m", f"tests.conformance.python.{name}_secured"]

    def _build_java(self) -> list[str]:
        classes = self._folder / "java"
        sources = [str(path) for path in sorted((HERE / "java").glob("*.java"))]
        run("javac", "-cp", f"{jars()}/*", "-d", str(classes), *sources, folder=HERE)
        small = ("-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        logging = f"-Dlog4j2.configurationFile={HERE / 'java' / 'log4j2.yaml'}"
        return ["java", *small, logging, "-cp", f"{classes}{os.pathsep}{jars()}/*"]

    def _build_go(self) -> Path:
        programs = self._folder / "go"
        programs.mkdir()
        run("go", "build", "-o", f"{programs}/", "./...", folder=HERE / "go")
        return programs

    def _build_node(self) -> Path:
        folder = self._folder / "node"  # npm empties it first, under what another worker runs
        copytree(HERE / "node", folder, ignore=ignore_patterns("node_modules"))
        run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=folder)
        return folder

    def _build_rust(self) -> Path:
        folder = self._folder / "rust"
        copytree(HERE / "rust", folder)  # cargo writes its lock beside the sources
        environment = {
            **os.environ,
            "CARGO_BUILD_BUILD_DIR": str(user_cache("cargo")),
            "CARGO_PROFILE_DEV_DEBUG": "0",
        }
        words = ("cargo", "build", "--quiet")
        run(*words, folder=folder, environment=environment, timeout_s=RUST_TIMEOUT_S)
        return folder / "target" / "debug"
