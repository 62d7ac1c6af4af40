from broker_lite.settings import SETTINGS
from broker_lite.settings.declared.token_settings import DELEGATION_SETTINGS, TOKEN_SETTINGS

SECRETS = {
    "delegation.token.secret.key",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.client.credentials.client.secret",
}


def test_secrets_are_not_shown() -> None:
    every = (*DELEGATION_SETTINGS, *TOKEN_SETTINGS)
    assert {each.name for each in every if each.is_sensitive} == SECRETS
    assert not any(SETTINGS[each.name].ignored for each in every)
