"""The clients of Java, Go and Node on the bugs of the catalogue."""

import pytest

from tests.catalogue.conftest import Trials
from tests.catalogue.table import NAMES, PYTHON, verdicts

pytestmark = [pytest.mark.client, pytest.mark.slow]

OTHERS = tuple(client for client in NAMES if client not in PYTHON)


@pytest.mark.parametrize(("name", "client", "verdict"), [*verdicts().rows(OTHERS)])
def test_a_client_does_what_is_known_of_it(
    trials: Trials, name: str, client: str, verdict: str
) -> None:
    trials.check(name, client, verdict)
