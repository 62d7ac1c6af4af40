"""Requests of users with ACLs to a real Kafka and to broker-lite: the same answers."""

from pathlib import Path

import pytest

from tests.differential.acl_sides import Sides
from tests.differential.compare_acls import compare
from tests.support.toolchain import require

SEED, REQUESTS = 1, 220


@pytest.mark.kafka
@pytest.mark.slow
def test_x41_to_x64_as_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    with Sides(tmp_path) as sides:
        outcome = compare(sides, SEED, REQUESTS)
    assert outcome.differences == []
    assert len(outcome.asked) > 50
