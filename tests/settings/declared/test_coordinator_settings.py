"""The settings of groups and transactions: Kafka's names, defaults and bounds."""

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, load_settings
from broker_lite.settings.declared.coordinator_settings import COORDINATOR_SETTINGS
from tests.settings.golden import assert_as_kafka

DEFAULTS = {
    "G-01 shortest": ("group_min_session_timeout_ms", 6_000),
    "G-01 longest": ("group_max_session_timeout_ms", 1_800_000),
    "G-02": ("group_initial_rebalance_delay_ms", 0),
    "G-03": ("group_max_size", 2**31 - 1),
    "G-05": ("offset_metadata_max_bytes", 4_096),
    "G-06 retention": ("offsets_retention_minutes", 10_080),
    "G-06 interval": ("offsets_retention_check_interval_ms", 600_000),
    "G-07": ("offsets_topic_num_partitions", 50),
    "G-08": ("group_consumer_session_timeout_ms", 45_000),
    "G-09": ("group_consumer_heartbeat_interval_ms", 5_000),
    "G-10": ("group_consumer_assignors", ["uniform", "range"]),
    "G-11": ("group_consumer_max_size", 2**31 - 1),
    "G-12": ("group_consumer_migration_policy", "bidirectional"),
    "G-13": ("group_consumer_assignment_interval_ms", 0),
    "T-07": ("transaction_max_timeout_ms", 900_000),
    "T-08": ("transactional_id_expiration_ms", 604_800_000),
    "T-09": ("transaction_abort_timed_out_transaction_cleanup_interval_ms", 10_000),
    "T-10": ("producer_id_expiration_ms", 86_400_000),
    "T-11": ("transaction_partition_verification_enable", True),
}


def test_as_in_kafka() -> None:
    assert_as_kafka(COORDINATOR_SETTINGS, "broker")


@pytest.mark.parametrize(
    ("name", "low"),
    [
        ("offsets.topic.segment.bytes", 1 << 20),
        ("transaction.state.log.segment.bytes", 1 << 20),
        ("offsets.topic.compression.codec", 0),
    ],
)
def test_g_07_what_the_state_topics_cannot_be_is_refused_at_the_start(name: str, low: int) -> None:
    """Else the topic could not be made, and every request of a group would fail."""
    load_settings(None, {}, {name: str(low)})
    with pytest.raises(SettingsError, match=name):
        load_settings(None, {}, {name: str(low - 1)})


@pytest.mark.parametrize(("name", "expected"), DEFAULTS.values(), ids=DEFAULTS.keys())
def test_defaults(name: str, expected: object) -> None:
    found = getattr(Settings({}), name)
    assert (list(found) if isinstance(found, tuple) else found) == expected
