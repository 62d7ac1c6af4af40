"""The clients of Python on the bugs of the catalogue; librdkafka is one of them."""

import pytest

from tests.catalogue.conftest import Trials
from tests.catalogue.table import PYTHON, verdicts

pytestmark = [pytest.mark.client, pytest.mark.slow]


@pytest.mark.parametrize(("name", "client", "verdict"), [*verdicts().rows(PYTHON)])
def test_a_client_does_what_is_known_of_it(
    trials: Trials, name: str, client: str, verdict: str
) -> None:
    trials.check(name, client, verdict)
