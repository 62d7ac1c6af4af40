import base64
import datetime
import json
import subprocess
import sys
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, pkcs12

from broker_lite.security.one_word.maker import PASSWORD, make, make_faulty

NAMES = ["localhost", "my_service", "*.example.org", "127.0.0.1", "::1"]
ASKED = {"names": NAMES, "users": ["user", "böb"], "ca": "", "ca_key": "", "token_key": {}}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return make(ASKED)


def certificate_of(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem[pem.index("-----BEGIN CERT") :].encode())


def test_the_servers_certificate(made: dict[str, Any]) -> None:
    ca, server = certificate_of(made["ca"]), certificate_of(made["server"])
    server.verify_directly_issued_by(ca)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["*.example.org", "localhost", "my_service"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    key = load_pem_private_key(made["server"].encode(), None)
    assert key.public_key() == server.public_key()


def test_it_is_valid_for_a_time_that_all_clients_accept(made: dict[str, Any]) -> None:
    server, now = certificate_of(made["server"]), datetime.datetime.now(datetime.UTC)
    assert server.not_valid_before_utc < now
    assert server.not_valid_after_utc - server.not_valid_before_utc < datetime.timedelta(825)
    assert abs(server.not_valid_after_utc.timestamp() - made["expires_s"]) < 60
    assert certificate_of(made["ca"]).not_valid_after_utc > server.not_valid_after_utc


@pytest.mark.parametrize("name", ["user", "böb"])
def test_a_clients_certificate(made: dict[str, Any], name: str) -> None:
    ca = certificate_of(made["ca"])
    client = certificate_of(made["clients"][name]["pem"])
    client.verify_directly_issued_by(ca)
    assert client.subject.rfc4514_string() == f"CN={name}"
    store = pkcs12.load_pkcs12(base64.b64decode(made["clients"][name]["p12"]), PASSWORD)
    assert store.cert is not None
    assert store.cert.certificate == client
    assert [one.certificate for one in store.additional_certs] == [ca]


def test_the_trust_store(made: dict[str, Any]) -> None:
    store = pkcs12.load_pkcs12(base64.b64decode(made["truststore"]), PASSWORD)
    assert [one.certificate for one in store.additional_certs] == [certificate_of(made["ca"])]


def test_the_ca_and_the_key_of_tokens_are_kept(made: dict[str, Any]) -> None:
    again = make({**ASKED, **{name: made[name] for name in ("ca", "ca_key", "token_key")}})
    assert (again["ca"], again["token_key"]) == (made["ca"], made["token_key"])
    assert again["server"] != made["server"]
    certificate_of(again["server"]).verify_directly_issued_by(certificate_of(made["ca"]))


@pytest.mark.parametrize("fault", ["self_signed", "expired"])
def test_a_faulty_certificate_comes_alone(fault: str, made: dict[str, Any]) -> None:
    asked = {"fault": fault, "names": NAMES, "ca": made["ca"], "ca_key": made["ca_key"]}
    found = make_faulty(asked)
    assert list(found) == ["server"]
    done = child(json.dumps(asked).encode())
    assert certificate_of(json.loads(done.stdout)["server"]).subject == (
        certificate_of(made["server"]).subject
    )


def child(data: bytes, *flags: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *flags, "-m", "broker_lite.security.one_word.maker"]
    return subprocess.run(command, input=data, capture_output=True, timeout=60)


def test_it_runs_as_a_child() -> None:
    done = child(json.dumps(ASKED).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(json.loads(done.stdout)["clients"]) == ["böb", "user"]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", json.dumps({**ASKED, "ca": "x", "ca_key": "y"}).encode()]
)
def test_what_is_damaged_is_one_line(data: bytes) -> None:
    done = child(data)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"what was kept of its CA is damaged\n"


def test_a_missing_library_is_one_line() -> None:
    hide = (
        "import sys; sys.modules['cryptography'] = None; "
        "from broker_lite.security.one_word.maker import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide], input=json.dumps(ASKED).encode(), capture_output=True
    )
    assert done.returncode == 1
    assert done.stderr == b"it needs another package: pip install 'broker-lite[security]'\n"
