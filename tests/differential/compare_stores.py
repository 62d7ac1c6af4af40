"""Changes of the key stores of a running broker: what it answers, and which certificate it serves.

A step is a name, what to do with files before, the configs to set (None removes one), and the store
that is served afterwards, where that changes.
"""

import datetime
import shutil
import socket
import ssl
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from broker_lite.wire import messages
from tests.support.raw_client import RawClient

PROTOCOLS: Final = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,ONE:SSL,TWO:SSL"
SECRET: Final = "changeit"
_BROKER: Final = 4
_DELETE: Final = 1
_SERVED_S: Final = 20
_DAY: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_LOCAL: Final = (x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")))
_SUBJECT: Final = {NameOID.COUNTRY_NAME: "US", NameOID.ORGANIZATION_NAME: "acme, inc"}


class Step(NamedTuple):
    """One change; see above."""

    name: str
    configs: dict[str, str | None]
    served: str | None = None
    prepare: Callable[[Path], object] | None = None
    node: str = "1"
    validate_only: bool = False


class Stores:
    """Key stores in a folder, all signed by one CA; those of the same name are alike."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._ca_key = ec.generate_private_key(ec.SECP256R1())
        self._ca = self._certificate({NameOID.COMMON_NAME: "ca"}, self._ca_key, ())
        self._names: dict[bytes, str] = {}
        self._write("first", "localhost", _LOCAL)
        self._write("second", "localhost", _LOCAL)
        self._write("more", "localhost", (*_LOCAL, x509.DNSName("x")))
        self._write("fewer", "localhost", _LOCAL[:1])
        self._write("other", "elsewhere", _LOCAL)
        self._write("third", "localhost", _LOCAL, secret="another")
        shutil.copy(folder / "first", folder / "current")
        (folder / "garbage").write_bytes(b"garbage")
        trusted = pkcs12.PKCS12Certificate(self._ca, b"ca")
        secret = BestAvailableEncryption(SECRET.encode())
        (folder / "trust").write_bytes(pkcs12.serialize_java_truststore([trusted], secret))

    def settings(self) -> dict[str, str]:
        """Of two listeners; the second one has a trust store."""
        found = {"listener.security.protocol.map": PROTOCOLS}
        for listener, kind, store in (
            ("one", "keystore", "current"),
            ("two", "keystore", "first"),
            ("two", "truststore", "trust"),
        ):
            prefix = f"listener.name.{listener}.ssl.{kind}."
            found[prefix + "location"] = str(self.folder / store)
            found[prefix + "password"] = SECRET
            found[prefix + "type"] = "PKCS12"
        return found

    def served(self, port: int) -> str:
        """The name of the store whose certificate a listener serves."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", port), _SERVED_S) as sock,
            context.wrap_socket(sock) as wrapped,
        ):
            found = wrapped.getpeercert(binary_form=True)
        assert found is not None
        return self._names[found]

    def _write(
        self,
        name: str,
        common_name: str,
        names: tuple[x509.GeneralName, ...],
        *,
        secret: str = SECRET,
    ) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = {**_SUBJECT, NameOID.COMMON_NAME: common_name}
        certificate = self._certificate(subject, key, names)
        self._names[certificate.public_bytes(Encoding.DER)] = name
        (self.folder / name).write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"Server", key, certificate, None, BestAvailableEncryption(secret.encode())
            )
        )
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / f"{name}.pem").write_bytes(pem + certificate.public_bytes(Encoding.PEM))

    def _certificate(
        self,
        subject: dict[x509.ObjectIdentifier, str],
        key: ec.EllipticCurvePrivateKey,
        names: tuple[x509.GeneralName, ...],
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(*one) for one in subject.items()]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_DAY)
            .not_valid_after(_DAY + datetime.timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._ca_key, hashes.SHA256())


def steps(folder: Path) -> list[Step]:
    """All steps, in their order."""
    key, trust = "listener.name.one.ssl.keystore.", "listener.name.two.ssl.truststore."
    pem = {key + "type": "PEM", key + "location": str(folder / "second.pem")}

    def at(name: str) -> dict[str, str | None]:
        return {key + "location": str(folder / name)}

    return [
        Step("another subject", at("other")),
        Step("a name is missing", at("fewer")),
        Step("no such file", at("none")),
        Step("no store", at("garbage")),
        Step("a wrong password", at("third")),
        Step("PEM with a password", pem),
        Step("an unknown type", {key + "type": "CASEEXACTJKS"}),
        Step("an empty location", {key + "location": ""}),
        Step("only checked", at("second"), validate_only=True),
        Step("only checked, and bad", at("other"), validate_only=True),
        Step("the same names", at("second"), "second"),
        Step("another password", {**at("third"), key + "password": "another"}, "third"),
        Step("back to the start", {key + "location": None, key + "password": None}, "first"),
        Step(
            "a file that has changed",
            {"log.cleaner.backoff.ms": "14000"},
            "more",
            lambda folder: shutil.copy(folder / "more", folder / "current"),
        ),
        Step("fewer names than now", at("first")),
        Step(
            "a file that is broken",
            {"log.cleaner.backoff.ms": "14001"},
            "more",
            lambda folder: (folder / "current").write_bytes(b"garbage"),
        ),
        Step("a trust store is added", {trust.replace("two", "one") + "location": str(folder)}),
        Step("a trust store that is none", {trust + "location": str(folder / "garbage")}),
        Step("no such trust store", {trust + "location": str(folder / "none")}),
        Step("a wrong password of it", {trust + "password": "hunter2"}),
        Step("what is fixed, of all", {"ssl.client.auth": "required"}),
        Step("what is fixed, of one", {"listener.name.two.ssl.client.auth": "required"}),
        Step("and then of all", {"ssl.client.auth": "requested"}),
        Step("an unknown word", {"listener.name.two.ssl.client.auth": "maybe"}),
        Step("without the prefix", {"ssl.keystore.location": "/a"}),
        Step("for all brokers", at("first"), node=""),
        Step("a fixed config", {"ssl.allow.dn.changes": "true"}),
    ]


def outcome(step: Step, stores: Stores, port: int, tls_port: int) -> tuple[Any, ...]:
    """What a broker answers to a step, and what it serves then."""
    if step.prepare is not None:
        step.prepare(stores.folder)
    types = messages.IncrementalAlterConfigsRequest
    resource = types.AlterConfigsResource(
        resource_type=_BROKER,
        resource_name=step.node,
        configs=[
            types.AlterableConfig(
                name=name, config_operation=_DELETE if value is None else 0, value=value
            )
            for name, value in step.configs.items()
        ],
    )
    with RawClient("127.0.0.1", port, timeout_s=_SERVED_S) as client:
        (answer,) = client.call(
            "IncrementalAlterConfigs", 1, resources=[resource], validate_only=step.validate_only
        ).responses
    deadline = time.monotonic() + _SERVED_S
    while (served := stores.served(tls_port)) != (step.served or served):
        if time.monotonic() > deadline:  # Kafka puts a change into use a moment after the answer
            break
        time.sleep(0.05)
    message = (answer.error_message or "").replace(str(stores.folder), "FOLDER")
    return step.name, answer.error_code, message, served
