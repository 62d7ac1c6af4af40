"""What parts of a broker that runs say to new values; the texts are those of a Kafka 4.3.1."""

import pytest

from broker_lite.settings import InvalidValue, Settings, load_settings
from broker_lite.settings.configs.reconfigure import check_reconfiguration

DYNAMIC = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid"
    " dynamic configuration"
)
COUNT = "Dynamic thread count update validation failed for {}={}, value should "


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (
            {},
            {"num.io.threads": "17"},
            DYNAMIC.format(
                COUNT.format("num.io.threads", 17)
                + "not be greater than double the current value 8"
            ),
        ),
        (
            {},
            {"num.io.threads": "3"},
            DYNAMIC.format(
                COUNT.format("num.io.threads", 3) + "be at least half the current value 8"
            ),
        ),
        (
            {},
            {"log.cleaner.threads": "3"},
            DYNAMIC.format(
                "Log cleaner threads cannot be increased to more than double the current value 1"
            ),
        ),
        (
            {"log.cleaner.threads": "4"},
            {"log.cleaner.threads": "1"},
            DYNAMIC.format(
                "Log cleaner threads cannot be reduced to less than half the current value 4"
            ),
        ),
        (
            {},
            {"metric.reporters": "a.b.C"},
            DYNAMIC.format(
                "Validation of dynamic config update of Set(metric.reporters) failed with class"
                " class kafka.server.DynamicMetricsReporters"
            ),
        ),
        (
            {},
            {"max.connections.per.ip.overrides": "127.0.0.1:5,abc"},
            "Error parsing configuration property 'max.connections.per.ip.overrides': begin 0, end"
            " -1, length 3",
        ),
        (
            {},
            {"max.connections.per.ip.overrides": "127.0.0.1:x"},
            'For input string: "x"',
        ),
    ],
)
def test_what_is_refused(before: dict[str, str], after: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        check_reconfiguration(Settings(dynamic=before), Settings(dynamic=after))
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"num.io.threads": "16"}),
        ({"num.io.threads": "16"}, {}),
        ({}, {"log.cleaner.threads": "2", "metric.reporters": ""}),
        ({}, {"max.connections.per.ip.overrides": "127.0.0.1:5, ::1:6"}),
        ({"num.io.threads": "100"}, {"num.io.threads": "100"}),
    ],
)
def test_what_is_taken(before: dict[str, str], after: dict[str, str]) -> None:
    check_reconfiguration(Settings(dynamic=before), Settings(dynamic=after))


_AUTH = {"listener.name.ssl.ssl.client.auth": "required"}
FIXED = (
    "Configs cannot be updated dynamically for existing listener ListenerName(SSL), restart broker"
    " or create a new listener for update"
)


@pytest.mark.parametrize(
    ("given", "before", "after", "is_refused"),
    [
        ({}, {}, _AUTH, False),
        ({}, {}, {**_AUTH, "ssl.enabled.protocols": "TLSv1.2"}, True),
        ({}, _AUTH, {**_AUTH, "num.network.threads": "4"}, True),
        ({}, _AUTH, {**_AUTH, "ssl.client.auth": "required"}, True),
        ({}, _AUTH, {**_AUTH, "max.connections.per.ip": "1001"}, False),
        ({}, _AUTH, {**_AUTH, "num.io.threads": "9"}, False),
        ({}, _AUTH, {**_AUTH, "listener.name.ssl.ssl.keystore.location": "/a"}, False),
        (_AUTH, _AUTH, {**_AUTH, "ssl.client.auth": "required"}, False),
        ({}, {}, {"ssl.client.auth": "required"}, False),
        (
            {},
            {},
            {"listener.name.ssl.ssl.keystore.location": "/a", "ssl.client.auth": "required"},
            False,
        ),
        ({}, {}, {"listener.name.ssl.unknown": "1", "ssl.client.auth": "required"}, True),
        ({}, {}, {"listener.name.nine.ssl.client.auth": "none", "ssl.provider": "x"}, False),
    ],
)
def test_fixed_configs_of_a_listener_x66(
    given: dict[str, str], before: dict[str, str], after: dict[str, str], is_refused: bool
) -> None:
    settings = load_settings(overrides={"listeners": "SSL://:0", **given}).with_dynamic(before)
    if is_refused:
        with pytest.raises(InvalidValue) as caught:
            check_reconfiguration(settings, settings.with_dynamic(after))
        assert str(caught.value) == DYNAMIC.format(FIXED)
    else:
        check_reconfiguration(settings, settings.with_dynamic(after))


def test_a_listener_with_both_reads_its_mechanisms_at_the_start_only() -> None:
    name = "sasl.enabled.mechanisms"
    before = load_settings(overrides={"listeners": "SASL_SSL://:0"})
    after = before.with_dynamic({f"listener.name.sasl_ssl.{name}": "new"}, {})
    with pytest.raises(InvalidValue, match=f"{name} of listener SASL_SSL is read"):
        check_reconfiguration(before, after)


@pytest.mark.parametrize(
    "change",
    [
        {"sasl.enabled.mechanisms": "PLAIN,GSSAPI"},
        {"listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN"},
        {"listener.name.sasl_plaintext.plain.sasl.jaas.config": "no JAAS"},
    ],
)
def test_mechanisms_and_users_are_read_at_the_start_only(change: dict[str, str]) -> None:
    (name,) = change
    before = load_settings(overrides={"listeners": "SASL_PLAINTEXT://:0"})
    after = before.with_dynamic(change, {})
    what = name[name.index("sasl.") :].replace(".", r"\.")
    with pytest.raises(InvalidValue, match=f"{what} of listener SASL_PLAINTEXT is read"):
        check_reconfiguration(before, after)
    plain = load_settings(overrides={"listeners": "PLAINTEXT://:0"})
    check_reconfiguration(plain, plain.with_dynamic(change, {}))
