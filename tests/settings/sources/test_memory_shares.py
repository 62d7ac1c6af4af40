"""Limits that fit the memory of a container or a machine."""

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, load_settings
from broker_lite.settings.sources.memory_limit import MemoryLimit
from broker_lite.settings.sources.memory_shares import PROGRAM_BYTES, fit

MIB = 1 << 20


def fitted(mebibytes: int, *, is_machine: bool = False, **given: str) -> Settings:
    overrides = {name.replace("_", "."): text for name, text in given.items()}
    settings = load_settings(overrides=overrides, env={})
    return fit(settings, MemoryLimit(mebibytes * MIB, is_machine))


def held_bytes_max(settings: Settings) -> int:
    """What clients can make the broker hold, besides one decoded request."""
    queued: int = settings.queued_max_request_bytes
    decompressed = (
        2 * settings.broker_lite_decompression_threads * settings.broker_lite_decompressed_max_bytes
    )
    held: int = (
        queued * 5 // 4
        + settings.socket_request_max_bytes
        + decompressed
        + settings.broker_lite_unsent_max_bytes
        + settings.broker_lite_groups_max_bytes
        + settings.broker_lite_fetch_sessions_max_bytes
    )
    return held


@pytest.mark.parametrize("mebibytes", [128, 200, 256, 512, 1024, 4096])
def test_what_clients_hold_fits_beside_the_program(mebibytes: int) -> None:
    settings = fitted(mebibytes)
    left_bytes = mebibytes * MIB - PROGRAM_BYTES
    assert held_bytes_max(settings) <= left_bytes * 17 // 16
    assert settings.broker_lite_control_request_max_bytes * 50 <= left_bytes // 2 + MIB


def test_a_container_of_128_mib_takes_messages_of_9_mb() -> None:
    settings = fitted(128)
    assert settings.socket_request_max_bytes == settings.queued_max_request_bytes == 20 * MIB
    assert settings.broker_lite_decompression_threads == 1
    assert settings.origin_of("queued.max.request.bytes") == "memory limit of the container"


def test_the_largest_message_always_fits() -> None:
    settings = fitted(64, message_max_bytes="30000000")
    assert settings.socket_request_max_bytes == 30_000_000 + MIB


def test_what_somebody_set_stays() -> None:
    settings = fitted(128, socket_request_max_bytes="50000000", broker_lite_unsent_max_bytes="77")
    assert settings.socket_request_max_bytes == 50_000_000
    assert settings.queued_max_request_bytes == 50_000_000
    assert settings.broker_lite_unsent_max_bytes == 77
    assert fitted(128, queued_max_request_bytes="-1").queued_max_request_bytes == -1


def test_on_a_large_machine_only_the_requests_get_a_limit() -> None:
    settings = fitted(16 * 1024, is_machine=True)
    assert list(settings.given) == ["queued.max.request.bytes"]
    assert settings.queued_max_request_bytes == (16 * 1024 * MIB - PROGRAM_BYTES) // 4
    assert settings.origin_of("queued.max.request.bytes") == "memory of the machine"


def test_one_request_is_no_larger_than_all_may_be() -> None:
    """As in KafkaConfig; its text."""
    with pytest.raises(SettingsError, match="must be larger or equal to"):
        load_settings(overrides={"queued.max.request.bytes": "1000"}, env={})
    sizes = {"queued.max.request.bytes": "1000", "socket.request.max.bytes": "1000"}
    assert load_settings(overrides=sizes, env={}).queued_max_request_bytes == 1000
