"""The verdicts that are known: which client stands and which one stumbles over which bug."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from tests.support.reference_kafka import KAFKA_VERSION

TABLE: Final = Path(__file__).parent / "verdicts.toml"
NAMES: Final[Mapping[str, str]] = {
    "confluent": "confluent-kafka",
    "aiokafka": "aiokafka",
    "kafka_python": "kafka-python",
    "franz": "franz-go",
    "sarama": "sarama",
    "kafkajs": "kafkajs",
    "java": "Java",
}
"""The clients as the documentation calls them."""
PYTHON: Final = ("confluent", "aiokafka", "kafka_python")
_CONFORMANCE: Final = Path(__file__).parent.parent / "conformance"
_MODULES: Final = {"franz": "github.com/twmb/franz-go", "sarama": "github.com/IBM/sarama"}


class Verdicts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The table.

    Attributes:
        versions: with which release each client was tried.
        stumbles: the clients that stumble over a bug, by bug.
        stands: the clients that do not, by bug.
    """

    versions: Mapping[str, str]
    stumbles: Mapping[str, tuple[str, ...]]
    stands: Mapping[str, tuple[str, ...]]

    def rows(self, clients: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
        """Each bug, client and verdict, of these clients."""
        for name in sorted({*self.stumbles, *self.stands}):
            for verdict, table in (("stumbles", self.stumbles), ("stands", self.stands)):
                for client in table.get(name, ()):
                    if client in clients:
                        yield name, client, verdict


@cache
def verdicts() -> Verdicts:
    """The table as it is in the file."""
    return msgspec.convert(tomllib.loads(TABLE.read_text("utf-8")), Verdicts)


def version_of(client: str) -> str:
    """The release of a client that the tests use here."""
    if client in PYTHON:
        return version(NAMES[client].replace("_", "-"))
    if client == "java":
        return KAFKA_VERSION
    if client == "kafkajs":
        lock = json.loads((_CONFORMANCE / "node" / "package-lock.json").read_text("utf-8"))
        return str(lock["packages"]["node_modules/kafkajs"]["version"])
    lines = (_CONFORMANCE / "go" / "go.mod").read_text("utf-8").splitlines()
    words = next(line.split() for line in lines if f"{_MODULES[client]} " in line)
    return words[1].removeprefix("v")
