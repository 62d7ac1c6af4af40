"""The broker's settings for tokens: of OAUTHBEARER, and delegation tokens; read at the start.

Those of clients have no effect: this node logs in nowhere. They are accepted, because files for
Kafka have them.
"""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between, OneOf, Validator

_TOKEN: Final = "sasl.oauthbearer."  # noqa: S105 - the beginning of the names of settings

_SERVED: Final = (
    Setting(
        "sasl.server.callback.handler.class",
        ConfigType.CLASS,
        None,
        "What validates tokens of OAUTHBEARER, set as listener.name.NAME.oauthbearer."
        "sasl.server.callback.handler.class: OAuthBearerValidatorCallbackHandler for signed "
        "tokens; unsecured tokens without it.",
    ),
    Setting(
        f"{_TOKEN}jwks.endpoint.url",
        ConfigType.STRING,
        None,
        "Where the keys are that tokens are signed with: https:, http: or file:.",
    ),
    Setting(
        f"{_TOKEN}jwks.endpoint.refresh.ms",
        ConfigType.LONG,
        "3600000",
        "How long fetched keys are used before they are fetched again.",
    ),
    Setting(
        f"{_TOKEN}jwks.endpoint.retry.backoff.ms",
        ConfigType.LONG,
        "100",
        "How long to wait after keys could not be fetched; twice as long each time.",
    ),
    Setting(
        f"{_TOKEN}jwks.endpoint.retry.backoff.max.ms",
        ConfigType.LONG,
        "10000",
        "How long to wait at most after keys could not be fetched.",
    ),
    Setting(
        f"{_TOKEN}expected.issuer",
        ConfigType.STRING,
        None,
        "What the claim iss of signed tokens has to be.",
    ),
    Setting(
        f"{_TOKEN}expected.audience",
        ConfigType.LIST,
        "",
        "Of which the claim aud of signed tokens has to have one; without any, a token must not "
        "have that claim.",
    ),
    Setting(
        f"{_TOKEN}clock.skew.seconds",
        ConfigType.INT,
        "30",
        "By how much clocks may differ when times of signed tokens are checked.",
    ),
    Setting(
        f"{_TOKEN}scope.claim.name",
        ConfigType.STRING,
        "scope",
        "The claim of signed tokens that has the scope.",
    ),
    Setting(
        f"{_TOKEN}sub.claim.name",
        ConfigType.STRING,
        "sub",
        "The claim of signed tokens that has the user's name.",
    ),
)

DELEGATION_SETTINGS: Final = (
    Setting(
        "delegation.token.secret.key",
        ConfigType.PASSWORD,
        None,
        "What passwords of delegation tokens are made with; without it there are none.",
    ),
    Setting(
        "delegation.token.max.lifetime.ms",
        ConfigType.LONG,
        "604800000",
        "How long a delegation token is valid at most, however often it is renewed.",
        Between(1),
    ),
    Setting(
        "delegation.token.expiry.time.ms",
        ConfigType.LONG,
        "86400000",
        "How long a delegation token is valid without a renewal.",
        Between(1),
    ),
    Setting(
        "delegation.token.expiry.check.interval.ms",
        ConfigType.LONG,
        "3600000",
        "How long a delegation token is kept after its end.",
        Between(1),
    ),
)

# name, type, default, what is allowed
_ROWS: Final[tuple[tuple[str, ConfigType, str | None, Validator | None], ...]] = (
    ("sasl.client.callback.handler.class", ConfigType.CLASS, None, None),
    ("sasl.login.callback.handler.class", ConfigType.CLASS, None, None),
    ("sasl.login.class", ConfigType.CLASS, None, None),
    ("sasl.login.connect.timeout.ms", ConfigType.INT, None, None),
    ("sasl.login.read.timeout.ms", ConfigType.INT, None, None),
    ("sasl.login.retry.backoff.max.ms", ConfigType.LONG, "10000", None),
    ("sasl.login.retry.backoff.ms", ConfigType.LONG, "100", None),
    (f"{_TOKEN}assertion.algorithm", ConfigType.STRING, "RS256", OneOf(("ES256", "RS256"))),
    (f"{_TOKEN}assertion.claim.aud", ConfigType.STRING, None, None),
    (f"{_TOKEN}assertion.claim.exp.seconds", ConfigType.INT, "300", Between(0, 86400)),
    (f"{_TOKEN}assertion.claim.iss", ConfigType.STRING, None, None),
    (f"{_TOKEN}assertion.claim.jti.include", ConfigType.BOOLEAN, "false", None),
    (f"{_TOKEN}assertion.claim.nbf.seconds", ConfigType.INT, "60", Between(0, 3600)),
    (f"{_TOKEN}assertion.claim.sub", ConfigType.STRING, None, None),
    (f"{_TOKEN}assertion.file", ConfigType.STRING, None, None),
    (f"{_TOKEN}assertion.private.key.file", ConfigType.STRING, None, None),
    (f"{_TOKEN}assertion.private.key.passphrase", ConfigType.PASSWORD, None, None),
    (f"{_TOKEN}assertion.template.file", ConfigType.STRING, None, None),
    (f"{_TOKEN}client.credentials.client.id", ConfigType.STRING, None, None),
    (f"{_TOKEN}client.credentials.client.secret", ConfigType.PASSWORD, None, None),
    (f"{_TOKEN}scope", ConfigType.STRING, None, None),
    (f"{_TOKEN}token.endpoint.url", ConfigType.STRING, None, None),
)

TOKEN_SETTINGS: Final = (
    *_SERVED,
    *(
        Setting(name, kind, default, "Has no effect: this node logs in nowhere.", validator)
        for name, kind, default, validator in _ROWS
    ),
)
