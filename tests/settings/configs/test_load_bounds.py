"""F-16: which parameters of synthetic topics fit together."""

import pytest

from broker_lite.errors import InvalidConfig
from broker_lite.settings import Settings, validate_topic_configs
from broker_lite.settings.configs.load_bounds import (
    BATCH_BYTES_MAX,
    RUN_BATCHES_MAX,
    RUN_BYTES_MAX,
    batch_bytes_max,
    run_batches,
)


def configs(**parameters: object) -> dict[str, str]:
    texts = {name.replace("_", "."): str(value) for name, value in parameters.items()}
    return {f"broker.lite.load.{name}": text for name, text in texts.items()}


@pytest.mark.parametrize(
    ("batch_records", "record_bytes", "keys"),
    [(1, 0, 0), (1, 1_000_000, 0), (1000, 1000, 500), (65_536, 0, 0), (100, 100, 1)],
)
def test_a_run_is_bounded(batch_records: int, record_bytes: int, keys: int) -> None:
    size_bytes = batch_bytes_max(batch_records, record_bytes, keys)
    count = run_batches(batch_records, record_bytes, keys)
    assert size_bytes <= BATCH_BYTES_MAX
    assert 1 <= count <= RUN_BATCHES_MAX
    assert count * size_bytes <= RUN_BYTES_MAX


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"batch_records": 1000, "record_bytes": 1033},
        {"batch_records": 65_536, "record_bytes": 0},
        {"keys": 8000},
        {"random": 0.33, "compression": "zstd", "end": 1 << 62},
    ],
)
def test_what_is_allowed(parameters: dict[str, object]) -> None:
    validate_topic_configs(Settings(), configs(mode="synthetic", **parameters))


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            {"batch_records": 1000, "record_bytes": 1034},
            "broker.lite.load.batch.records (1000) of broker.lite.load.record.bytes (1034) make a "
            "batch of up to 1049061 bytes; at most 1048588 are allowed",
        ),
        (
            {"keys": 8001},
            "broker.lite.load.keys (8001) are more than the 8000 records that are repeated; take "
            "smaller records or fewer keys",
        ),
        (
            {"random": 1.5},
            "Invalid value 1.5 for configuration broker.lite.load.random: Value must be no more "
            "than 1",
        ),
        ({"random": "NaN"}, "broker.lite.load.random (NaN) is not a number"),
        (
            {"end": (1 << 62) + 1},
            "Invalid value 4611686018427387905 for configuration broker.lite.load.end: Value must "
            "be no more than 4611686018427387904",
        ),
        (
            {"compression": "lzma"},
            "Invalid value lzma for configuration broker.lite.load.compression: String must be one "
            "of: none, gzip, snappy, lz4, zstd",
        ),
    ],
)
def test_what_is_refused(parameters: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate_topic_configs(Settings(), configs(mode="synthetic", **parameters))
    assert str(refused.value) == text


def test_stored_topics_may_have_any_parameters() -> None:
    validate_topic_configs(Settings(), configs(batch_records=65_536, record_bytes=1_000_000))
