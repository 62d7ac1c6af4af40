import json

import pytest

from broker_lite.settings import SETTINGS, Given, Settings
from broker_lite.settings.table import FORMATS, rows

SHOWN = {name for name, each in SETTINGS.items() if not (each.internal or each.ignored)}
SETTINGS_GIVEN = Settings({"log.retention.ms": Given("9", "KAFKA_LOG_RETENTION_MS")})


def test_rows() -> None:
    found = {row.name: row for row in rows(SETTINGS_GIVEN)}
    assert set(found) == SHOWN
    assert found["log.retention.ms"].value == "9"
    assert found["log.retention.ms"].source == "KAFKA_LOG_RETENTION_MS"
    assert found["num.partitions"].source == "default"
    assert (found["retention.ms"].scope, found["retention.ms"].value) == ("topic", "")
    assert found["compression.type"].scope == "broker, topic"
    assert found["group.initial.rebalance.delay.ms"].meaning.endswith("(Kafka's default: 3000.)")
    assert found["emulate"].meaning.endswith("(broker-lite's own.)")


@pytest.mark.parametrize("form", list(FORMATS))
def test_forms(form: str) -> None:
    text = "\n".join(FORMATS[form](SETTINGS_GIVEN))
    assert all(name in text for name in SHOWN)
    if form == "json":
        assert len(json.loads(text)) == len(rows(SETTINGS_GIVEN))
    if form == "markdown":
        cells = {line.replace("\\|", "").count("|") for line in text.splitlines()}
        assert cells == {7}
