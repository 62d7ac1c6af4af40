"""ApiVersions: which versions and features are told to whom.

Also tests: broker_lite.handler.table.
"""

from typing import Any

import pytest

from broker_lite.handler.offered import offered
from broker_lite.handler.table import APIS
from tests.support.handler_broker import HandlerBroker, OpenBroker
from tests.support.several_brokers import talk_to

VERSIONS = range(6)
KNOWN_TO_4_3 = [
    "eligible.leader.replicas.version",
    "group.version",
    "kraft.version",
    "metadata.version",
    "share.version",
    "streams.version",
    "transaction.version",
]


def ask(broker: HandlerBroker, version: int, **fields: Any) -> Any:
    if version >= 3:
        fields = {"client_software_name": "test", "client_software_version": "1.0", **fields}
    return broker.call("ApiVersions", version, **fields)


@pytest.mark.parametrize("version", VERSIONS)
def test_p49_every_api_of_the_table_ascending(broker: HandlerBroker, version: int) -> None:
    response = ask(broker, version)
    assert response.error_code == 0
    told = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
    assert list(told) == sorted(APIS)
    assert told == {
        key: (0 if key == 0 else api.min_version, api.max_version) for key, api in APIS.items()
    }


def test_p50_produce_starts_at_version_0(broker: HandlerBroker) -> None:
    first = ask(broker, 0).api_keys[0]
    assert (first.api_key, first.min_version) == (0, 0)


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "a\n", ".", "\u00e4"])
def test_p47_names_that_clients_must_not_have(
    broker: HandlerBroker, version: int, name: str
) -> None:
    for field in ("client_software_name", "client_software_version"):
        response = ask(broker, version, **{field: name})
        assert (response.error_code, response.api_keys) == (42, [])


@pytest.mark.parametrize("name", ["a", "a-b", "Apache.Kafka-9", "7"])
def test_p47_names_that_clients_may_have(broker: HandlerBroker, name: str) -> None:
    assert ask(broker, 3, client_software_name=name).error_code == 0


@pytest.mark.parametrize(
    ("is_right_cluster", "node_id", "error"),
    [(True, 1, 0), (True, 2, 129), (False, 1, 129), (True, -1, 42), (None, 1, 42), (None, -1, 0)],
)
def test_p48_who_the_client_expects(
    broker: HandlerBroker, is_right_cluster: bool | None, node_id: int, error: int
) -> None:
    names = {True: broker.cluster.cluster_id, False: "x" * 22, None: None}
    response = ask(broker, 5, cluster_id=names[is_right_cluster], node_id=node_id)
    assert response.error_code == error
    assert bool(response.api_keys) == (error == 0)


def test_p52_p53_features_with_a_lowest_level_of_0_since_version_4(broker: HandlerBroker) -> None:
    old, new = ask(broker, 3), ask(broker, 4)
    assert [feature.name for feature in old.supported_features] == ["metadata.version"]
    assert {feature.name for feature in new.supported_features} >= {
        "transaction.version",
        "group.version",
    }
    for response in (old, new):
        finalized = [
            (feature.name, feature.min_version_level, feature.max_version_level)
            for feature in response.finalized_features
        ]
        assert finalized == [
            ("eligible.leader.replicas.version", 1, 1),
            ("group.version", 1, 1),
            ("metadata.version", 30, 30),
            ("share.version", 1, 1),
            ("streams.version", 1, 1),
            ("transaction.version", 2, 2),
        ]
        assert response.finalized_features_epoch >= 0


def test_p54_nothing_is_finalized_that_is_not_served(broker: HandlerBroker) -> None:
    """Also where the data directory is that of a Kafka which serves them."""
    broker.cluster.update_features({"share.version": 2, "kraft.version": 1})
    told = {each.name: each.max_version_level for each in ask(broker, 4).finalized_features}
    assert "kraft.version" not in told
    assert told["share.version"] == 1


def test_p54_a_setting_switches_features_back(open_broker: OpenBroker) -> None:
    off = "transaction.version=1,group.version=0,eligible.leader.replicas.version=0"
    off += ",share.version=0,streams.version=0"
    broker = open_broker(broker_lite_features=off)
    finalized = {
        feature.name: feature.max_version_level for feature in ask(broker, 4).finalized_features
    }
    assert finalized == {"metadata.version": 30, "transaction.version": 1}


@pytest.mark.parametrize(
    ("release", "version", "supported"),
    [
        ("2.6", 3, []),
        ("2.8", 3, []),
        ("3.5", 3, ["metadata.version"]),
        ("3.9", 4, ["kraft.version", "metadata.version"]),
        ("4.0", 4, ["group.version", "kraft.version", "metadata.version", "transaction.version"]),
        ("4.3", 4, KNOWN_TO_4_3),
        ("4.4", 4, KNOWN_TO_4_3),
    ],
)
def test_p56_features_of_a_release(
    open_broker: OpenBroker, release: str, version: int, supported: list[str]
) -> None:
    broker = open_broker(emulate=release)
    response = ask(broker, version)
    assert [feature.name for feature in response.supported_features] == supported


def test_p56_versions_of_a_release(open_broker: OpenBroker) -> None:
    broker = open_broker(emulate="2.8")
    broker.context.apis = offered("2.8")
    told = {entry.api_key: entry.max_version for entry in ask(broker, 3).api_keys}
    assert (told[0], told[3], told[18]) == (9, 11, 3)
    assert 75 not in told


@pytest.mark.parametrize(("node_id", "code"), [(2, 0), (1, 129), (3, 129)])
def test_p48_the_client_expects_one_of_several_brokers(
    open_broker: OpenBroker, node_id: int, code: int
) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3"), 2)
    answer = ask(broker, 5, cluster_id=broker.cluster.cluster_id, node_id=node_id)
    assert answer.error_code == code


def test_p52_each_broker_tells_the_features_of_its_release(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_brokers="3", emulate="3.9,4.0,3.5")
    told = {}
    for node_id in (1, 2, 3):
        answer = ask(talk_to(broker, node_id), 4)
        told[node_id] = {
            each.name: each.max_version for each in answer.supported_features if each.max_version
        }
        assert answer.finalized_features[0].max_version_level == 11
    assert told == {
        1: {"metadata.version": 21},
        2: {"group.version": 1, "metadata.version": 25, "transaction.version": 2},
        3: {"metadata.version": 11},
    }
