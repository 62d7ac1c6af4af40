"""A short share of tests.fuzz.registry_messages, which reads 20,000 messages."""

from pathlib import Path

from tests.fuzz.registry_messages import run

CASES = 1000


def test_a_message_is_a_value_or_an_error(tmp_path: Path) -> None:
    found = run(seed=20261127, cases=CASES, _=tmp_path)
    assert found.faults == [], found.summary()
    assert found.outcomes["avro sound value"] > CASES // 10
    assert found.outcomes["protobuf sound value"] > CASES // 50
    assert sum(count for name, count in found.outcomes.items() if "error" in name) > CASES // 4
