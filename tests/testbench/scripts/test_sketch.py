"""A script made from a recorded session: it holds for the same session again, and says so."""

from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from tests.testbench.scripts.test_run import ASK, errors, start, wait


@pytest.fixture(scope="module")
def broker() -> Any:
    with Broker(topics=["t:2"]) as started:
        yield started


def test_a_session_becomes_a_script(broker: Broker) -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": "headers"})
    broker.produce("t", "a")
    errors(broker, 3)
    made: Any = broker.control("GET", "/v1/requests/script")
    wanted = [
        {"keys": ["Produce"], "topic": "t", "partitions": [0]},
        {"keys": ["ListOffsets"], "topic": "t", "partitions": [0]},
    ]
    assert [each for each in made["expect"]["requests"] if each["keys"] != ["Fetch"]] == wanted
    assert made["expect"]["others_ok"] == ["ListOffsets", "Metadata", "ApiVersions"]
    assert made["topics"] == ["t:2"]
    broker.control("DELETE", "/v1/topics/t")
    script = start(broker, **made)
    broker.produce("t", "a", partition=0)
    errors(broker, 1)
    assert wait(broker, script)["ok"]
    broker.control("DELETE", f"/v1/scripts/{script}")


def test_a_session_with_faults_is_refused(broker: Broker) -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": "headers"})
    broker.control("POST", "/v1/faults", {"id": "a", **ASK})
    errors(broker, 2)
    with pytest.raises(BrokerFailed, match="met rule a: a sketch is of a session without faults"):
        broker.control("GET", "/v1/requests/script")
    journal: Any = broker.control("GET", "/v1/requests/recording")
    made: Any = broker.control("GET", f"/v1/requests/script?after={journal['last']}")
    assert made == {"expect": {"others_ok": ["Metadata", "ApiVersions"]}}


def test_topics_keep_their_configs(broker: Broker) -> None:
    """A stand-in validates and compacts as the broker of the session did."""
    configs = {"cleanup.policy": "compact,delete", "max.message.bytes": "2000"}
    broker.create_topic("small", partitions=2, configs=configs)
    broker.control("PUT", "/v1/requests/recording", {"recording": "headers"})
    journal: Any = broker.control("GET", "/v1/requests/recording")
    broker.produce("small", "a", key="k")
    made: Any = broker.control("GET", f"/v1/requests/script?after={journal['last']}")
    assert made["topics"] == ["small:2:cleanup.policy=[compact,delete],max.message.bytes=2000"]
    before: Any = broker.control("GET", "/v1/topics/small")
    broker.control("DELETE", "/v1/topics/small")
    start(broker, topics=made["topics"], expect={"requests": []})
    assert configs.items() <= before["configs"].items()
    after: Any = broker.control("GET", "/v1/topics/small")
    assert after["configs"] == before["configs"]
