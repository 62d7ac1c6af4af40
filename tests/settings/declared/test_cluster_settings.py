import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import load_settings
from broker_lite.settings.declared.cluster_settings import CLUSTER_SETTINGS, RACK_AWARE_SELECTOR
from tests.settings.golden import assert_as_kafka

_SELECTOR = "replica.selector.class"


def test_as_in_kafka() -> None:
    assert_as_kafka(CLUSTER_SETTINGS, "broker")


def test_a_selector_of_racks_or_none() -> None:
    assert load_settings().replica_selector_class is None
    settings = load_settings(overrides={_SELECTOR: RACK_AWARE_SELECTOR})
    assert settings.replica_selector_class == RACK_AWARE_SELECTOR


@pytest.mark.parametrize("name", ["org.acme.Nearest", "", "RackAwareReplicaSelector"])
def test_another_selector_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(overrides={_SELECTOR: name})
    assert str(refused.value) == (
        f"--set: Invalid value {name} for configuration {_SELECTOR}: String must be one of: "
        f"{RACK_AWARE_SELECTOR}"
    )
