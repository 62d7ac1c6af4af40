"""The broker that the clients are run against: ours, or what CONFORMANCE_BOOTSTRAP names."""

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.support.broker_process import BrokerProcess


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a running broker."""
    other = os.environ.get("CONFORMANCE_BOOTSTRAP")
    if other:
        yield other
        return
    with BrokerProcess(tmp_path_factory.mktemp("conformance") / "data") as broker:
        yield broker.bootstrap


@pytest.fixture
def topic() -> str:
    """A topic name that no other test uses."""
    return f"topic-{uuid.uuid4().hex}"
