"""G-91: what a group may set for itself, with Kafka's texts."""

import pytest

from broker_lite.errors import InvalidConfig
from broker_lite.settings import Given, Settings, load_settings
from broker_lite.settings.configs.describe import describe_group
from broker_lite.settings.configs.group_config import (
    GROUP_SETTINGS,
    group_config_value,
    validate_group_configs,
)

HEARTBEAT = "consumer.heartbeat.interval.ms"
SESSION = "consumer.session.timeout.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {SESSION: "45000"},
        {SESSION: "60000", HEARTBEAT: "15000"},
        {HEARTBEAT: "5000", ASSIGNMENT: "0"},
        {ASSIGNMENT: "15000"},
    ],
)
def test_g91_within_the_bounds(overrides: dict[str, str]) -> None:
    validate_group_configs(load_settings(env={}, overrides={}), overrides)


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"nonsense": "1", SESSION: "x"}, "Unknown group config name: nonsense"),
        (
            {HEARTBEAT: "x"},
            f"Invalid value x for configuration {HEARTBEAT}: Not a number of type INT",
        ),
        (
            {SESSION: "0"},
            f"Invalid value 0 for configuration {SESSION}: Value must be at least 1",
        ),
        (
            {SESSION: "5"},
            f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {SESSION: "60001"},
            f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms",
        ),
        (
            {HEARTBEAT: "1"},
            f"{HEARTBEAT} must be greater than or equal to "
            "group.consumer.min.heartbeat.interval.ms",
        ),
        (
            {ASSIGNMENT: "15001"},
            f"{ASSIGNMENT} must be less than or equal to group.consumer.max.assignment.interval.ms",
        ),
    ],
)
def test_g91_outside_of_them(overrides: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        validate_group_configs(load_settings(env={}, overrides={}), overrides)
    assert caught.value.message == reason


def test_g91_a_heartbeat_is_shorter_than_a_session() -> None:
    texts = {
        "group.consumer.min.session.timeout.ms": "100",
        "group.consumer.min.heartbeat.interval.ms": "100",
    }
    settings = Settings({name: Given(text, "test") for name, text in texts.items()})
    with pytest.raises(InvalidConfig, match=f"^{SESSION} must be greater than {HEARTBEAT}$"):
        validate_group_configs(settings, {SESSION: "100", HEARTBEAT: "100"})


def test_g91_the_brokers_setting_counts_where_a_group_has_none() -> None:
    texts = {"group.consumer.session.timeout.ms": "46000"}
    settings = load_settings(env={}, overrides=texts)
    assert group_config_value(settings, {}, SESSION) == 46_000
    assert group_config_value(settings, {SESSION: "50000"}, SESSION) == 50_000


def test_p120_g91_as_described() -> None:
    settings = load_settings(env={}, overrides={"group.consumer.session.timeout.ms": "46000"})
    by_name = {entry.name: entry for entry in describe_group(settings, {SESSION: "50000"})}
    assert by_name.keys() == GROUP_SETTINGS.keys()
    session = by_name[SESSION]
    assert (session.value, session.source, session.read_only) == ("50000", 8, False)
    assert [tuple(one) for one in session.synonyms] == [
        (SESSION, "50000", 8),
        ("group.consumer.session.timeout.ms", "46000", 4),
        ("group.consumer.session.timeout.ms", "45000", 5),
    ]
    heartbeat = by_name[HEARTBEAT]
    assert (heartbeat.value, heartbeat.source, heartbeat.is_default) == ("5000", 5, True)
    assert [entry.name for entry in describe_group(settings, {}, [SESSION, "nope"])] == [SESSION]


RESET = "share.auto.offset.reset"


@pytest.mark.parametrize(
    "text",
    [
        "earliest",
        "latest",
        "by_duration:P1DT2H3M4.5S",
        "by_duration:PT1H",
        "by_duration:P9999999999D",
        "by_duration:PT9223372036854775807S",
        "by_duration:p1d",
        "by_duration:+P1D",
        "by_duration:P1DT-1H",
        "by_duration:-P-1D",
        "by_duration:PT1.S",
        "by_duration:PT0,5S",
        "by_duration:PT0S",
        "by_duration:P-1DT24H",
    ],
)
def test_g91_where_a_share_group_begins(text: str) -> None:
    settings = load_settings(env={}, overrides={})
    validate_group_configs(settings, {RESET: text})
    (entry,) = describe_group(settings, {RESET: text}, [RESET])
    assert [(one.value, one.source) for one in entry.synonyms] == [(text, 8), ("latest", 5)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "none",
        "by_duration",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:1H",
        "BY_DURATION:PT1H",
        "by_duration:PT99999999999999999999S",
        "by_duration:P\u0663D",
        "by_duration:-P1D",
        "by_duration:P-1D",
        "by_duration:PT-0.000000001S",
    ],
)
def test_g91_where_no_share_group_begins(text: str) -> None:
    with pytest.raises(InvalidConfig, match="must be either 'earliest', 'latest' or of the format"):
        validate_group_configs(load_settings(env={}, overrides={}), {RESET: text})


def test_g91_groups_of_each_kind_have_their_bounds() -> None:
    settings = load_settings(env={}, overrides={})
    for name, text, bound in (
        ("share.session.timeout.ms", "7", "greater than or equal to group.share.min"),
        ("streams.num.standby.replicas", "3", "less than or equal to group.streams.max"),
        ("share.delivery.count.limit", "1", "Value must be at least 2"),
    ):
        with pytest.raises(InvalidConfig, match=bound):
            validate_group_configs(settings, {name: text})
    assert "by_duration" in GROUP_SETTINGS[RESET].setting.allowed
