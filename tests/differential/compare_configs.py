"""Describe and change every config of a broker, a topic and a group here and on a real Kafka.

    python -m tests.differential.compare_configs [--write]

Compared are what is described at the start, the codes and texts of every change, and what is read
back of it. What differs and is not listed in config_differences.toml is printed, and makes the exit
code 1. `--write` keeps Kafka's answers in tests/vectors/configs.json, against which the suite
compares without a Kafka.
"""

import argparse
import json
import re
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from broker_lite.settings import SETTINGS
from broker_lite.wire import messages
from tests.differential.config_cases import (
    BROKER,
    GROUP,
    TOPIC,
    Ask,
    Row,
    cases,
    describe,
    place,
    run,
)
from tests.support.handler_broker import handler_broker
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka

DIFFERENCES: Final = Path(__file__).with_name("config_differences.toml")
GOLDEN: Final = Path(__file__).parent.parent / "vectors" / "configs.json"
RESOURCES: Final = ((BROKER, "1"), (TOPIC, "t"), (GROUP, "g"))
OURS: Final = {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
}
"""The settings of ReferenceKafka that are not about its addresses."""
_DEFAULT_SOURCE: Final = 5
_TRIES: Final = 25
_PAUSE_S: Final = 0.04

Outcomes = dict[str, Row]
"""What a broker did in each case, by the case's title."""


def kafka_outcomes(folder: Path, every: int = 1) -> Outcomes:
    """What a real Kafka answers; addresses and directories are those of its start.

    Args:
        folder: for its files.
        every: run each so many-th case.
    """
    with ReferenceKafka(folder) as kafka, RawClient("127.0.0.1", kafka.port, timeout_s=30) as raw:

        def ask(name: str, version: int, value: Any) -> Any:
            return raw.request(getattr(messages, f"{name}Request"), value, version)

        _create_topic(ask)
        found = outcomes(ask, lambda: time.sleep(_PAUSE_S), _TRIES, every=every)
    return _without_places(found, folder)


def _without_places(found: Outcomes, folder: Path) -> Outcomes:
    """The same in every run: ports and directories are those of one run."""
    text = json.dumps(found).replace(str(folder), "/kafka")
    plain: Outcomes = json.loads(re.sub(r"(127\.0\.0\.1:)\d{4,5}", r"\g<1>9092", text))
    return plain


def our_outcomes(folder: Path, golden: Mapping[str, Row]) -> Outcomes:
    """What broker-lite answers in the cases of a Kafka's outcomes."""
    with handler_broker(folder, OURS) as broker:
        _create_topic(broker.request)
        return outcomes(broker.request, lambda: None, 1, golden)


def _create_topic(ask: Ask) -> None:
    types = messages.CreateTopicsRequest
    topic = types.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    ask("CreateTopics", 5, types(topics=[topic], timeout_ms=10_000))


def outcomes(
    ask: Ask,
    pause: Callable[[], None],
    tries: int,
    golden: Mapping[str, Row] | None = None,
    every: int = 1,
) -> Outcomes:
    """Describe all, then run the cases: those of golden, or those of what is described."""
    described = {place(resource): describe(ask, resource) for resource in RESOURCES}
    found: Outcomes = {
        f"{where} {name}": {"described": entry}
        for where, entries in described.items()
        for name, entry in entries.items()
    }
    if golden is not None:
        described = {place(resource): {} for resource in RESOURCES}
        for title, row in golden.items():
            if "described" in row:
                kind, who, name = title.split(" ")
                described[f"{kind} {who}"][name] = row["described"]
    for case in islice(cases(described), None, None, every):
        found[case.title] = run(ask, case, pause, tries)
    return found


def differences(kafka: Outcomes, ours: Outcomes) -> list[str]:
    """What differs and is not listed, a text each."""
    found = []
    for title, theirs in kafka.items():
        mine = as_kafkas(ours.get(title, {}))
        if json.loads(json.dumps(mine)) != theirs and config_of(title) not in listed():
            found.append(f"{title}\n  kafka {json.dumps(theirs)}\n  ours  {json.dumps(mine)}")
    own = {name for name, setting in SETTINGS.items() if setting.own}
    for title, row in ours.items():
        if "described" in row and title not in kafka and config_of(title) not in own:
            found.append(f"{title}: Kafka does not describe it")
    return found


def config_of(title: str) -> str:
    """The config of a case."""
    return title.split(" ")[2].partition("=")[0].rstrip("+-")


@cache
def listed() -> Mapping[str, str]:
    """The configs that may differ, and why."""
    rows = tomllib.loads(DIFFERENCES.read_text("utf-8"))["difference"]
    return {name: row["reason"] for row in rows for name in row["configs"]}


def as_kafkas(row: Row) -> Row:
    """Our outcome with Kafka's defaults in place of ours, where the setting names both."""
    return {key: _with_kafka_default(value) for key, value in row.items()}


def _with_kafka_default(entry: Any) -> Any:
    if not isinstance(entry, list) or not isinstance(entry[-1], list):
        return entry
    value, source, *middle, synonyms = entry
    translated = [
        [name, _kafka_default(name, text) if origin == _DEFAULT_SOURCE else text, origin]
        for name, text, origin in synonyms
    ]
    if source == _DEFAULT_SOURCE and translated and synonyms[0][1] == value:
        value = translated[0][1]
    return [value, source, *middle, translated]


def _kafka_default(name: str, text: str | None) -> str | None:
    setting = SETTINGS.get(name)
    is_ours = setting is not None and setting.kafka_default is not None and text == setting.default
    return setting.kafka_default if setting is not None and is_ours else text


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep Kafka's answers for the suite")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="configs-") as folder:
        begun = time.monotonic()
        kafka = kafka_outcomes(Path(folder) / "kafka")
        seconds = time.monotonic() - begun
        ours = our_outcomes(Path(folder) / "ours", kafka)
    found = differences(kafka, ours)
    for text in found:
        print(text)
    print(f"{len(kafka)} cases in {seconds:.0f} s, {len(found)} differ and are not listed")
    if options.write:
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in kafka.items())
        GOLDEN.write_text(f"{{\n{lines}\n}}\n", "utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
