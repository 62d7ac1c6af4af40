"""Clients in Go and Java in the situations for which franz-go and librdkafka have their mocks."""

import pytest

from broker_lite.testing import Broker
from tests.conformance.clients import HERE, Builds, run
from tests.support.broker_process import BrokerProcess
from tests.support.toolchain import require

pytestmark = pytest.mark.client


@pytest.mark.parametrize("situation", ["partition", "held", "shuffle", "coordinator", "node"])
def test_franz_go(
    situation: str, cluster: Broker, served: BrokerProcess, topic: str, builds: Builds
) -> None:
    require("go")
    program = str(builds.go() / "mocks")
    words = (situation, cluster.bootstrap, served.control_url, topic)
    assert run(program, *words, folder=HERE) == "passed\n"


@pytest.mark.parametrize("situation", ["lost", "transaction", "fenced", "group", "range"])
def test_java(
    situation: str, cluster: Broker, served: BrokerProcess, topic: str, builds: Builds
) -> None:
    require("java", "javac", "mvn")
    words = (situation, cluster.bootstrap, served.control_url, topic)
    assert run(*builds.java(), "Mocks", *words, folder=HERE) == "passed\n"
