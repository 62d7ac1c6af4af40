"""A running broker with secured listeners."""

from collections.abc import Iterator

import pytest

from tests.support.secured_broker import SecuredBroker, secured_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A running broker with a listener of each kind."""
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        yield running
