"""What the settings set: P-02, P-11, P-12."""

import logging

import pytest

from broker_lite.errors import SettingsError
from broker_lite.server.limits.node_limits import (
    CurrentLimits,
    Limits,
    Pace,
    limits_of,
    time_limit_s,
)
from broker_lite.settings import Given, Settings


def settings_with(**texts: str) -> Settings:
    return Settings({name.replace("_", "."): Given(text, "test") for name, text in texts.items()})


def test_the_defaults_are_those_of_the_settings() -> None:
    limits = limits_of(Settings())
    assert limits.request_bytes_max == Limits().request_bytes_max
    assert limits.control_bytes_max == Limits().control_bytes_max
    assert limits.connections_max == Limits().connections_max
    assert limits.connections_max_idle_ms == Limits().connections_max_idle_ms
    assert limits.send_buffer_bytes == Limits().send_buffer_bytes


def test_p_12_an_address_of_its_own_limit() -> None:
    limits = limits_of(
        settings_with(
            max_connections_per_ip="5", max_connections_per_ip_overrides="1.2.3.4:1, ::1:2"
        )
    )
    assert [limits.connections_max_of(ip) for ip in ("1.2.3.4", "::1", "::2")] == [1, 2, 5]


@pytest.mark.parametrize("text", ["x", "1.2.3.4:", ":5", "1.2.3.4:-1"])
def test_bad_overrides_are_one_line(text: str) -> None:
    with pytest.raises(SettingsError, match="is not ADDRESS:COUNT"):
        limits_of(settings_with(max_connections_per_ip_overrides=text))


def test_dynamic_settings_are_followed(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings()
    limits = CurrentLimits(lambda: settings)
    assert limits() is limits()
    settings = settings_with(max_connections="7")
    assert limits().connections_max == 7
    settings = settings_with(max_connections="8", max_connections_per_ip_overrides="bad")
    assert limits().connections_max == 7
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(("idle_ms", "limit_s"), [("5000", 5), ("90000", 60), ("-1", 60)])
def test_how_long_a_client_may_take_until_it_is_served(idle_ms: str, limit_s: float) -> None:
    assert time_limit_s(settings_with(connections_max_idle_ms=idle_ms), 60) == limit_s


def test_p_17_without_a_pace_there_is_no_slow_link() -> None:
    assert limits_of(Settings()).pace is None
    assert limits_of(settings_with(broker_lite_pace_client_ids="slow-*")).pace is None
    assert limits_of(settings_with(broker_lite_pace_rtt_ms="5")).pace == Pace(5, 0, 0, "*")
    given = {"broker_lite_pace_in_byte_rate": "1", "broker_lite_pace_out_byte_rate": "2"}
    assert limits_of(settings_with(**given)).pace == Pace(0, 1, 2, "*")
