import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.testing import Broker, BrokerFailed
from tests.support.certificates import write_certificates
from tests.support.tls_client import seen_by_python, seen_with_ca


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(security="ssl") as started:
        yield started


def test_it_is_in_force_within_the_context(broker: Broker) -> None:
    with broker.certificate_fault("expired"):
        assert seen_by_python(broker) == "certificate has expired"
    assert seen_by_python(broker) == "fine"


def test_it_ends_also_when_a_test_fails(broker: Broker) -> None:
    with pytest.raises(ssl.SSLError, match="the test"), broker.certificate_fault("self_signed"):
        raise ssl.SSLError("the test")
    assert seen_by_python(broker) == "fine"


def test_without_a_context_it_stays_until_it_is_removed(broker: Broker) -> None:
    fault = broker.certificate_fault("wrong_host", node=1)
    assert seen_by_python(broker).startswith("IP address mismatch")
    fault.remove()
    assert seen_by_python(broker) == "fine"


def test_clear_faults_ends_it_too(broker: Broker) -> None:
    broker.certificate_fault("unknown_ca")
    broker.clear_faults()
    assert seen_by_python(broker) == "fine"


def _fail(broker: Broker) -> None:
    broker.kill()
    raise RuntimeError("first")


def test_a_broker_that_is_gone_does_not_hide_the_first_error() -> None:
    with Broker(security="ssl") as gone:
        fault = gone.certificate_fault("expired")
        with pytest.raises(RuntimeError, match="first"), fault:
            _fail(gone)


def test_a_broker_that_is_gone_is_told() -> None:
    with Broker(security="ssl") as gone:
        fault = gone.certificate_fault("expired")
        gone.kill()
        with pytest.raises(BrokerFailed), fault:
            pass


def test_the_setting_holds_from_the_start_on_and_after_a_reset() -> None:
    with Broker({"broker.lite.security.fault": "expired"}, security="ssl") as spoiled:
        assert seen_by_python(spoiled) == "certificate has expired"
        spoiled.control("DELETE", "/v1/security/certificates")
        assert seen_by_python(spoiled) == "fine"
        spoiled.reset()
        assert seen_by_python(spoiled) == "certificate has expired"


def test_the_setting_needs_the_key_of_the_ca(tmp_path: Path) -> None:
    files = write_certificates(tmp_path)
    given = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
        "broker.lite.security.fault": "self_signed",
    }
    with Broker(given) as spoiled:
        assert seen_with_ca(spoiled.bootstrap, files.ca.read_text()) == "self-signed certificate"
    given["broker.lite.security.fault"] = "expired"
    with pytest.raises(BrokerFailed, match=r"listener SSL: .* expired needs the key"):
        Broker(given).start()


def test_the_setting_needs_tls() -> None:
    with pytest.raises(BrokerFailed, match=r"broker.lite.security.fault .* no listener speaks TLS"):
        Broker({"broker.lite.security.fault": "expired"}).start()
