from typing import Any

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one


def update(
    broker: HandlerBroker, version: int, *changes: tuple[str, int, int], **fields: Any
) -> Any:
    entry = messages.UpdateFeaturesRequest.FeatureUpdateKey
    updates = [entry(feature=name, max_version_level=level) for name, level, _ in changes]
    if version:
        for each, (_, _, upgrade_type) in zip(updates, changes, strict=True):
            each.upgrade_type = upgrade_type
    return broker.call("UpdateFeatures", version, feature_updates=updates, **fields)


@pytest.mark.parametrize("version", range(3))
def test_p150_features_are_changed(broker: HandlerBroker, version: int) -> None:
    broker.cluster.update_features({"group.version": 0})
    answer = update(broker, version, ("group.version", 1, 1))
    assert (answer.error_code, answer.error_message) == (0, None)
    results = [(one.feature, one.error_code, one.error_message) for one in answer.results]
    assert results == ([("group.version", 0, "NONE")] if version < 2 else [])
    assert broker.cluster.features["group.version"] == 1


def test_p150_t67_features_are_switched_off_and_stay_so(broker: HandlerBroker) -> None:
    before = broker.cluster.features_epoch
    update(broker, 1, ("group.version", 0, 2), ("transaction.version", 1, 3))
    assert dict(broker.cluster.features) == {
        "eligible.leader.replicas.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 1,
    }
    assert broker.cluster.features_epoch == before + 2
    update(broker, 1, ("group.version", 0, 2))
    assert broker.cluster.features_epoch == before + 2


def test_p150_nothing_is_changed_when_it_is_only_asked(broker: HandlerBroker) -> None:
    answer = update(broker, 1, ("group.version", 0, 2), validate_only=True)
    assert one(answer.results).error_code == 0
    assert broker.cluster.features["group.version"] == 1


@pytest.mark.parametrize("version", range(3))
def test_p150_one_that_cannot_be_changed_fails_all(broker: HandlerBroker, version: int) -> None:
    answer = update(broker, version, ("transaction.version", 1, 2), ("nonsense", 1, 1))
    assert (answer.error_code, answer.results) == (95, [])
    assert answer.error_message.startswith("The update failed for all features since")
    assert broker.cluster.features["transaction.version"] == 2


@pytest.mark.parametrize(
    ("emulate", "feature", "level", "reason"),
    [
        ("4.3,3.9", "group.version", 1, "Broker 2 does not support this feature."),
        ("4.3,3.9", "metadata.version", 25, "Broker 2 only supports versions 7-21"),
        ("3.9,4.3", "group.version", 1, "Local controller 1 does not support this feature."),
    ],
)
def test_p150_all_brokers_have_to_support_a_level(
    open_broker: OpenBroker, emulate: str, feature: str, level: int, reason: str
) -> None:
    broker = open_broker(broker_lite_brokers="2", emulate=emulate)
    assert dict(broker.cluster.features) == {"metadata.version": 21}
    answer = update(broker, 2, (feature, level, 1))
    assert (answer.error_code, answer.error_message.endswith(reason)) == (95, True)
    assert update(broker, 2, ("group.version", 0, 1)).error_code == (0 if emulate > "4" else 95)
