"""No secret shows: not in logs, configs, recorded requests, tracebacks or the control API."""

import base64
import json
from contextlib import closing
from pathlib import Path

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.differential.compare_sasl import (
    SASL_SETTINGS,
    Talk,
    bearer,
    outcome,
    ports_and_settings,
    token,
    upsertion,
)
from tests.support.command_line import run_process
from tests.support.raw_client import RawClient

SECRETS = {
    "plain": "alice-secret",
    "wrong": "hush-wrong-password",
    "delegation": "hush-delegation-key",
    "keystore": "hush-keystore-password",
    "dynamic": "hush-dynamic-password",
    "scram": "hush-scram-password",
    "jaas": "bob-secret",
}


def requests_with_secrets(plain: int, sasl: int) -> set[bytes]:
    """Send every kind of secret, right and wrong; return what must not show, as bytes."""
    hello, alice = ("handshake", 1, "PLAIN"), b"\0alice\0alice-secret"
    wrong = f"\0alice\0{SECRETS['wrong']}".encode()
    good = token(4_000_000_000)
    with RawClient("127.0.0.1", plain) as client:
        new = upsertion("erin", "SCRAM-SHA-256", SECRETS["scram"])
        client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[new])
        kind = messages.IncrementalAlterConfigsRequest
        for name in ("listener.name.tls.ssl.keystore.password", "no.such.password"):
            config = kind.AlterableConfig(name=name, value=SECRETS["dynamic"])
            change = kind.AlterConfigsResource(resource_type=4, resource_name="1", configs=[config])
            client.call("IncrementalAlterConfigs", 1, resources=[change], validate_only=False)
        asked = messages.DescribeConfigsRequest.DescribeConfigsResource
        told = client.call(
            "DescribeConfigs",
            4,
            resources=[asked(resource_type=4, resource_name="1", configuration_keys=None)],
            include_synonyms=True,
        )
    for secret in SECRETS.values():
        assert secret not in repr(told)
    outcome(sasl, [hello, ("token", 2, wrong)])
    outcome(sasl, [hello, ("token", 2, b"\0bob\0bob-secret\0x")])
    outcome(sasl, [("handshake", 0, "PLAIN"), ("raw", wrong)])
    outcome(sasl, [("handshake", 1, "SCRAM-SHA-256"), ("scram", 2, "SCRAM-SHA-256", "erin", "x")])
    outcome(sasl, [("handshake", 1, "OAUTHBEARER"), ("token", 2, bearer(good + "x"))])
    outcome(sasl, [hello, ("frame", b"\0\x24\0\x02\0\0\0\1\xff\xff" + wrong)])
    with closing(Talk(sasl)) as talk:
        talk.request("SaslHandshake", 1, mechanism="PLAIN")
        talk.request("SaslAuthenticate", 2, auth_bytes=alice)
        made = talk.request("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=-1)
        talk.request("DescribeDelegationToken", 3, owners=None)
        talk.request("RenewDelegationToken", 2, hmac=made.hmac, renew_period_ms=5)
    hmac = bytes(made.hmac)
    return {
        *(secret.encode() for secret in SECRETS.values()),
        *(base64.b64encode(secret.encode()).rstrip(b"=") for secret in SECRETS.values()),
        good.encode(),
        hmac,
        hmac.hex().encode(),
        base64.b64encode(hmac),
        bytes(new.salted_password),
        bytes(new.salted_password).hex().encode(),
    }


def shown_by(broker: Broker) -> bytes:
    """All that the control API, the requests and the log tell."""
    shown = [broker.log.encode()]
    paths = ["/v1/requests?limit=1000", "/v1/requests/lines?count=1000", "/v1/refusals"]
    paths += ["/v1/connections", "/v1/topics", "/v1/groups", "/v1/faults", "/v1/brokers"]
    for request in broker.requests():
        paths += [f"/v1/requests/{request.id}{part}" for part in ("", "/request", "/answer")]
    for path in paths:
        try:
            told = broker.control("GET", path)
        except BrokerFailed as error:  # no answer was made
            told = str(error)
        shown.append(told if isinstance(told, bytes) else json.dumps(told).encode())
    return b"\n".join(shown)


def test_no_secret_shows(tmp_path: Path) -> None:
    plain, sasl, settings = ports_and_settings()
    data = tmp_path / "data"
    broker = Broker(
        {
            **settings,
            "delegation.token.secret.key": SECRETS["delegation"],
            "ssl.keystore.password": SECRETS["keystore"],
            "broker.lite.log.level": "debug",
        },
        port=plain,
        data_dir=data,
    )
    with broker:
        broker.record_requests("bodies")
        secrets = requests_with_secrets(plain, sasl)
        with broker.fault("SaslAuthenticate", error="SASL_AUTHENTICATION_FAILED"):
            outcome(sasl, [("handshake", 1, "PLAIN"), ("token", 2, b"\0alice\0alice-secret")])
        shown = shown_by(broker)
        assert b"SaslAuthenticate" in shown
        assert [secret for secret in secrets if secret in shown] == []


def test_config_shows_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    lines = {**SASL_SETTINGS, "delegation.token.secret.key": SECRETS["delegation"]}
    lines["ssl.keystore.password"] = SECRETS["keystore"]
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    for form in ("table", "json"):
        text = str(run_process("config", "--config", str(path), "--format", form))
        assert "delegation.token.secret.key" in text
        assert [secret for secret in SECRETS.values() if secret in text] == []


def test_a_setting_that_is_wrong_is_told_without_its_value(tmp_path: Path) -> None:
    plain, _, settings = ports_and_settings()
    name = "listener.name.sasl.plain.sasl.jaas.config"
    wrong = {**settings, name: f"org.acme.Module required user_a={SECRETS['jaas']}"}
    with pytest.raises(BrokerFailed) as caught:
        Broker(wrong, port=plain).start()
    assert "plain.sasl.jaas.config: the name of an option or a ; is missing" in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert SECRETS["jaas"] not in str(caught.value)
