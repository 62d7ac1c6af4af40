import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed

SECRET = "b%2Bs:ö"
GRANT = "grant_type=client_credentials"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(security="sasl_plaintext", users={"bob": SECRET}) as started:
        yield started


@pytest.fixture(scope="module")
def url(broker: Broker) -> str:
    (line,) = (each for each in broker.log.splitlines() if "control API at" in each)
    return line.rpartition(" ")[2].replace("127.0.0.1", "localhost")


def ask(url: str, body: str, user: str = "", password: str = "") -> tuple[int, Any]:
    request = urllib.request.Request(url, body.encode())
    if user:
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        request.add_header("Authorization", f"Basic {pair}")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def claims(answer: Any) -> Any:
    part = answer["access_token"].split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_the_issuer_is_what_the_client_dialled(url: str) -> None:
    for base in (url, url.replace("localhost", "127.0.0.1")):
        with urllib.request.urlopen(f"{base}/.well-known/openid-configuration") as answer:
            told = json.load(answer)
        assert told["issuer"] == base
        assert told["token_endpoint"] == f"{base}/oauth/token"
        assert told["jwks_uri"] == f"{base}/oauth/jwks"
        _, issued = ask(told["token_endpoint"], GRANT, "user", "user-secret")
        assert claims(issued)["iss"] == base


def test_a_token_by_the_header_and_by_the_form(url: str) -> None:
    form = urllib.parse.urlencode({"client_id": "bob", "client_secret": SECRET})
    for status, told in (
        ask(f"{url}/oauth/token", f"{GRANT}&scope=a+b&audience=kafka", "bob", SECRET),
        ask(
            f"{url}/oauth/token",
            f"{GRANT}&scope=a+b&audience=kafka",
            "bob",
            urllib.parse.quote_plus(SECRET),
        ),
        ask(f"{url}/oauth/token", f"{GRANT}&scope=a+b&audience=kafka&{form}"),
    ):
        assert status == 200
        assert (told["token_type"], told["expires_in"]) == ("Bearer", 3600)
        body = claims(told)
        assert (body["sub"], body["aud"], body["scope"]) == ("bob", "kafka", "a b")
        assert body["exp"] - body["iat"] == 3600


def test_a_token_of_another_life_time(url: str) -> None:
    _, told = ask(f"{url}/oauth/token?seconds=5", GRANT, "user", "user-secret")
    assert told["expires_in"] == 5
    assert claims(told)["exp"] - claims(told)["iat"] == 5


def test_the_time_is_the_brokers(broker: Broker, url: str) -> None:
    before = claims(ask(f"{url}/oauth/token", GRANT, "user", "user-secret")[1])["iat"]
    broker.advance(timedelta(days=1))
    after = claims(ask(f"{url}/oauth/token", GRANT, "user", "user-secret")[1])["iat"]
    assert after - before >= 24 * 3600


@pytest.mark.parametrize(
    ("user", "password"),
    [("user", "wrong"), ("eve", "user-secret"), ("", ""), ("user", ""), ("bob", "b+s:ö")],
)
def test_a_wrong_user_or_password(url: str, user: str, password: str) -> None:
    assert ask(f"{url}/oauth/token", GRANT, user, password) == (401, {"error": "invalid_client"})


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("", "unsupported_grant_type"),
        ("grant_type=password", "unsupported_grant_type"),
        ("ä", "invalid_request"),
        ("&".join(["a=b"] * 101), "invalid_request"),
        ("a" * 70_000, "invalid_request"),
    ],
)
def test_a_wrong_form(url: str, body: str, error: str) -> None:
    assert ask(f"{url}/oauth/token", body, "user", "user-secret") == (400, {"error": error})


@pytest.mark.parametrize("value", ["Basic !", "Basic /w==", "Basic", "Basic " + "A" * 9999])
def test_a_wrong_header(url: str, value: str) -> None:
    request = urllib.request.Request(f"{url}/oauth/token", GRANT.encode())
    request.add_header("Authorization", value)
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 401
    error.value.close()


def test_keys(broker: Broker, url: str) -> None:
    with urllib.request.urlopen(f"{url}/oauth/jwks") as answer:
        told = json.load(answer)
    assert told == broker.control("GET", "/oauth/jwks")
    broker.restart()
    assert told == broker.control("GET", "/oauth/jwks")


def test_a_form_is_taken_for_tokens_only(broker: Broker) -> None:
    at = [each for each in broker.log.splitlines() if "control API at" in each][-1].split()[-1]
    assert ask(f"{at}/v1/reset", "x=y")[0] == 415


def test_a_broker_without_security_issues_nothing(broker_factory: Any) -> None:
    plain = broker_factory()
    for method, path in (
        ("GET", "/oauth/jwks"),
        ("GET", "/.well-known/openid-configuration"),
        ("POST", "/oauth/token"),
    ):
        with pytest.raises(BrokerFailed, match="start it with --security"):
            plain.control(method, path)
