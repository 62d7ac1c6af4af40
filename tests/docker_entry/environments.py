"""The variables that other images are given, with what has to come of them."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Listener(NamedTuple):
    """What has to come of a listener; `told` is None where clients are told how they came."""

    name: str
    host: str
    port: int
    told: tuple[str, int] | None


class Environment(NamedTuple):
    """One set of variables."""

    name: str
    variables: dict[str, str]
    listeners: list[Listener]
    cluster_id: str | None
    ignored: list[str]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _listener(text: str) -> Listener:
    name, address, *told = text.split()
    return Listener(name, *_address(address), _address(told[1]) if told else None)


ENVIRONMENTS = [
    Environment(
        name,
        case["variables"],
        [_listener(text) for text in case["listeners"]],
        case.get("cluster_id"),
        case.get("ignored", []),
    )
    for name, case in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
]
