"""The clients of Java, Go and Node on the bugs of the catalogue."""

import pytest

from tests.catalogue.conftest import Trials
from tests.catalogue.table import NAMES, PYTHON, verdicts, version_of

pytestmark = [pytest.mark.client, pytest.mark.slow]

OTHERS = tuple(client for client in NAMES if client not in PYTHON)


@pytest.mark.parametrize(("name", "client", "verdict"), [*verdicts().rows(OTHERS)])
def test_a_client_does_what_is_known_of_it(
    trials: Trials, name: str, client: str, verdict: str
) -> None:
    tried = trials.of(name, client)
    told = f"{tried.why}\n{client} {version_of(client)}: if this is so for good, change the table"
    assert tried.verdict == verdict, f"{told}, tests/catalogue/verdicts.toml\n{tried.printed}"
