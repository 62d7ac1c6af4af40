"""The configs of subscriptions to client metrics; codes and texts are those of a Kafka 4.3.1."""

import pytest

from broker_lite.errors import ErrorCode, InvalidConfig, InvalidRequest
from broker_lite.settings.configs.client_metrics_config import (
    CLIENT_METRICS_SETTINGS,
    client_metrics_config,
    split_match,
)


def test_p132_defaults() -> None:
    assert client_metrics_config("s", {}) == ((), 300_000, ())
    assert list(CLIENT_METRICS_SETTINGS) == ["interval.ms", "match", "metrics"]


def test_p132_values() -> None:
    texts = {"metrics": " a , b,a", "interval.ms": " 100 ", "match": "client_id=x"}
    assert client_metrics_config("s", texts) == (("a", "b"), 100, ("client_id=x",))
    assert client_metrics_config("s", {"interval.ms": "3600000"}).interval_ms == 3_600_000


@pytest.mark.parametrize(
    ("name", "texts", "text"),
    [
        ("", {"nope": "1"}, "Subscription name can't be empty"),
        ("s", {"nope": "1", "interval.ms": "x"}, "Unknown client metrics configuration: nope"),
        (
            "s",
            {"interval.ms": "99"},
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "s",
            {"interval.ms": "3600001"},
            "Invalid value 3600001 for interval.ms, interval must be between 100 and 3600000 "
            "(1 hour)",
        ),
    ],
)
def test_p132_what_makes_no_request(name: str, texts: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        client_metrics_config(name, texts)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_REQUEST, text)


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (
            {"interval.ms": "x"},
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        (
            {"interval.ms": "9" * 12},
            f"Invalid value {'9' * 12} for configuration interval.ms: Not a number of type INT",
        ),
        ({"metrics": "a,,b"}, "Configuration 'metrics' values must not be empty."),
        ({"match": "client_id=a,,"}, "Configuration 'match' values must not be empty."),
        # a text that is no value comes before an interval that is out of its bounds
        (
            {"match": "a,,b", "interval.ms": "1"},
            "Configuration 'match' values must not be empty.",
        ),
    ],
)
def test_p132_what_is_no_value(texts: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        client_metrics_config("s", texts)
    assert caught.value.message == text


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("a=b", ["a", "b"]),
        ("a", ["a"]),
        ("a=", ["a"]),
        ("a=b=", ["a", "b"]),
        ("a==b", ["a", "", "b"]),
        ("=", []),
        ("=b", ["", "b"]),
    ],
)
def test_p132_parts_between_the_signs(pattern: str, parts: list[str]) -> None:
    assert split_match(pattern) == parts
