"""Client metrics: a real Kafka's answers, kept in a file, against ours.

`vectors/telemetry.json` was written by `python -m tests.differential.test_telemetry FILE` from a
Kafka 4.3.1 with a receiver; the test marked kafka compares it again.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_telemetry import TelemetrySide, steps
from tests.differential.java_program import compiled
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

GOLDEN: Final = Path(__file__).parent.parent / "vectors" / "telemetry.json"


def noted(port: int, pass_ms: Callable[[int], None]) -> dict[str, Any]:
    with TelemetrySide(port, pass_ms) as side:
        found: dict[str, Any] = json.loads(json.dumps(dict(steps(side)), default=bytes.hex))
    return found


def kafka_notes(folder: Path) -> dict[str, Any]:
    name = "TelemetryReceiver"
    settings = {"metric.reporters": name}
    with ReferenceKafka(folder, settings=settings, classes=compiled(name)) as kafka:
        return noted(kafka.port, lambda pause_ms: time.sleep(pause_ms / 1000))


@pytest.mark.slow
def test_p132_p151_to_p156_our_answers_are_kafkas() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    with Broker() as broker:

        def pass_ms(pause_ms: int) -> None:
            broker.advance(timedelta(milliseconds=pause_ms))

        ours = noted(int(broker.bootstrap.rpartition(":")[2]), pass_ms)
    assert ours == golden
    assert len(golden) > 120


@pytest.mark.kafka
@pytest.mark.slow
def test_kafkas_answers_are_those_kept(tmp_path: Path) -> None:
    require("java", "mvn")
    assert kafka_notes(tmp_path / "kafka") == json.loads(GOLDEN.read_text("utf-8"))


def main(path: Path) -> None:
    """Write Kafka's answers."""
    with TemporaryDirectory() as folder:
        found = kafka_notes(Path(folder) / "kafka")
    lines = ",\n".join(f"{json.dumps(title)}: {json.dumps(row)}" for title, row in found.items())
    path.write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
