"""Which tokens a listener accepts, from its settings."""

from typing import Any

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.sasl.token_rules import KeyPlace, token_check
from broker_lite.settings import load_settings
from tests.differential.signed_token_cases import HANDLER, STRICT, settings

OWN = "listener.name.sasl.oauthbearer.sasl."
LISTENER = {
    "listeners": "SASL://127.0.0.1:0",
    "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
}


class Opened:
    """Notes where keys are said to be."""

    def __init__(self) -> None:
        self.places: list[KeyPlace] = []

    def __call__(self, place: KeyPlace) -> Any:
        self.places.append(place)
        return self

    def keys(self) -> None:
        """None are known."""

    def miss(self, kid: str) -> None:
        """Do nothing."""

    async def ready(self) -> None:
        """Do nothing."""


def check(given: dict[str, str], **options: str) -> tuple[Any, list[KeyPlace]]:
    opened = Opened()
    loaded = load_settings(overrides={**LISTENER, **given})
    return token_check(loaded, "SASL", options, opened), opened.places


def test_x29_signed_tokens() -> None:
    given = settings("SASL", "https://issuer/keys", jwks_endpoint_refresh_ms="5", **STRICT)
    found, places = check(given)
    assert places == [KeyPlace("https://issuer/keys", 5, 100, 10_000)]
    assert found.ready is not None
    older = HANDLER.replace("oauthbearer.", "oauthbearer.secured.")
    assert check({**given, OWN + "server.callback.handler.class": older})[0].ready is not None


def test_unsecured_tokens_by_default() -> None:
    found, places = check({})
    assert (found.ready, places) == (None, [])
    with pytest.raises(SettingsError, match="has no effect without"):
        check({"sasl.oauthbearer.jwks.endpoint.url": "https://issuer/keys"})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({OWN + "server.callback.handler.class": "my.Handler"}, "my.Handler is not served"),
        ({"sasl.server.callback.handler.class": HANDLER}, "has to be set as listener.name.sasl"),
        ({OWN + "server.callback.handler.class": HANDLER}, "signed tokens need sasl.oauthbearer"),
        (settings("SASL", "ftp://x/y"), "begins with https:, http:, file:"),
    ],
)
def test_what_is_not_served(given: dict[str, str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        check(given)


def test_options_of_the_module() -> None:
    with pytest.raises(SettingsError, match="needs unsecuredLoginStringClaim_sub, too"):
        check({}, unsecuredValidatorRequiredScope="kafka")
    with pytest.raises(SettingsError, match="needs unsecuredLoginStringClaim_me, too"):
        check({}, unsecuredLoginPrincipalClaimName="me", unsecuredLoginStringClaim_sub="x")
    handler = {OWN + "login.callback.handler.class": "my.Login"}
    assert check(handler, unsecuredValidatorRequiredScope="kafka")[0].ready is None
    broker = {"unsecuredLoginStringClaim_sub": "broker"}
    with pytest.raises(SettingsError, match="number of milliseconds"):
        check({}, **broker, unsecuredValidatorAllowableClockSkewMs="x")
    given = settings("SASL", "https://x/y")
    with pytest.raises(SettingsError, match="ssl"):
        check(given, **broker, **{"ssl.truststore.location": "x"})
