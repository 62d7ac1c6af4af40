"""Brokers with wrong certificates, ours or a real Kafka, and the cases of clients that check them.

Each fault has a broker of ours, or a listener of Kafka, and all are in force at once.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from broker_lite.security.one_word.maker import make, make_faulty
from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS, CertificateFault
from broker_lite.testing import Broker
from tests.support.reference_kafka import ReferenceKafka, free_port


class Spoiled(NamedTuple):
    """A broker with wrong certificates.

    Attributes:
        addresses: HOST:PORT by fault.
        ca: PEM of the CA that clients trust.
    """

    addresses: Mapping[CertificateFault, str]
    ca: str


@contextmanager
def spoiled_broker_lite() -> Iterator[Spoiled]:
    """Run a broker of ours."""
    with Broker(security="ssl", brokers=len(CERTIFICATE_FAULTS)) as broker:
        for node, fault in enumerate(CERTIFICATE_FAULTS, 1):
            broker.certificate_fault(fault, node=node)
        addresses = dict(zip(CERTIFICATE_FAULTS, broker.addresses, strict=True))
        yield Spoiled(addresses, str(broker.control("GET", "/v1/security/ca.pem")))


@contextmanager
def spoiled_kafka(folder: Path) -> Iterator[Spoiled]:
    """Run a real Kafka."""
    names = ["127.0.0.1", "localhost"]
    made = make({"names": names, "users": [], "ca": "", "ca_key": "", "token_key": {"kty": "x"}})
    addresses = {fault: f"127.0.0.1:{free_port()}" for fault in CERTIFICATE_FAULTS}
    listeners = {fault: fault.replace("_", "") for fault in CERTIFICATE_FAULTS}
    protocols = {name.upper(): "SSL" for name in listeners.values()}
    protocols |= {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    settings = {
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
    }
    for fault, name in listeners.items():
        asked = {"fault": fault, "names": names, "ca": made["ca"], "ca_key": made["ca_key"]}
        keys = folder / f"{fault}.pem"
        keys.write_text(str(make_faulty(asked)["server"]))
        prefix = f"listener.name.{name}.ssl.keystore."
        settings |= {f"{prefix}type": "PEM", f"{prefix}location": str(keys)}
    more = "".join(f",{listeners[fault].upper()}://{at}" for fault, at in addresses.items())
    kafka = ReferenceKafka(
        folder / "data", settings=settings, more_listeners=more, is_short_lived=True
    )
    with kafka:
        yield Spoiled(addresses, str(made["ca"]))


def spoiled_cases(spoiled: Spoiled, folder: Path) -> Iterator[str]:
    """The lines of a client's cases, one for each fault."""
    ca = folder / "spoiled_ca.pem"
    ca.write_text(spoiled.ca)
    for fault, address in spoiled.addresses.items():
        yield f"SSL.{fault} fails bootstrap={address} protocol=SSL topic=t ca={ca}"
