"""The histogram beside HdrHistogram, whose Java version is among Kafka's jars."""

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker_lite.load.histogram import Histogram
from tests.support.reference_kafka import jars
from tests.support.toolchain import require

SHARES = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0)
DIGITS = 1e-5  # of HdrHistogram's five
TIMEOUT_S = 120


def hdr(values: Sequence[int]) -> list[int]:
    """What HdrHistogram says: a value for each share, the count and the maximum."""
    program = Path(__file__).parent / "Percentiles.java"
    done = subprocess.run(
        ["java", "-cp", f"{jars()}/*", str(program)],
        input="\n".join([" ".join(map(str, SHARES)), *map(str, values)]) + "\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return list(map(int, done.stdout.split()))


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("shape", ["log-normal", "uniform", "two peaks"])
def test_percentiles_are_those_of_hdr_histogram(shape: str) -> None:
    require("java", "mvn")
    source = random.Random(shape)
    draw = {
        "log-normal": lambda: source.lognormvariate(14, 2),
        "uniform": lambda: source.uniform(1, 1e9),
        "two peaks": lambda: source.gauss(source.choice([1e6, 1e9]), 1e5),
    }[shape]
    values = [max(int(draw()), 1) for _ in range(20_000)]
    # counted in four processes, and added up
    parts = [Histogram() for _ in range(4)]
    for number, value in enumerate(values):
        parts[number % 4].record(value)
    histogram = Histogram()
    for part in parts:
        histogram.add(Histogram.from_data(part.as_data()))
    *percentiles, count, largest = hdr(values)
    assert histogram.count == count == 20_000
    assert histogram.max <= largest <= histogram.max * (1 + DIGITS)
    for share, theirs in zip(SHARES, percentiles, strict=True):
        ours = histogram.percentile(share)
        assert theirs * (1 - DIGITS) <= ours <= theirs * 33 / 32, (share, ours, theirs)
