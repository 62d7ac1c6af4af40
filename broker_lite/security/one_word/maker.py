"""A child process that makes keys and certificates: `python -m`, see the module keep.

Standard input is JSON: `names` for the server's certificate, `users` to make certificates for, and
the kept `ca`, `ca_key` and `token_key`, which are empty the first time. Standard output is JSON:
all that is to be kept, see keep.Kept.

Or it is asked for one certificate that is wrong: `fault` as in faulty_certificate, `names`, and
`ca` and `ca_key`, which are empty where the fault does not need them. Then standard output has
`server` only.

An error is one line on standard error, and the exit code 1.

The library takes 40 ms and 12 MB, so the broker itself does not import it.
"""

import base64
import datetime
import ipaddress
import json
import secrets
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import KeySerializationEncryption
    from cryptography.x509 import Certificate, CertificateBuilder, GeneralName, Name

PASSWORD: Final = b"changeit"
"""Of the PKCS12 stores; it is Java's usual one, and no secret."""
_CA_DAYS: Final = 3650
# Some clients accept no certificate that is valid for more than 825 days.
_DAYS: Final = 820
_BACK_DAYS: Final = 1
_RSA_BITS: Final = 2048
_RSA_EXPONENT: Final = 65537
_Validity: TypeAlias = tuple[int, int]
"""The first and the last day on which a certificate is valid, in days from now."""
_VALID: Final[_Validity] = (-_BACK_DAYS, _DAYS)
_VALID_BEFORE: Final[_Validity] = (-_DAYS, -1)
_VALID_LATER: Final[_Validity] = (1, _DAYS)
_CA_NAME: Final = "broker-lite CA"
_SERVER_NAME: Final = "broker-lite"
WRONG_HOST: Final = "wrong-host.invalid"
"""The only name of the certificate with the fault wrong_host; nobody has it (RFC 6761)."""


def make(asked: Mapping[str, Any]) -> dict[str, object]:
    """Make what is asked for; see the module.

    Raises:
        ImportError: the library is not installed.
        ValueError: what was kept is damaged.
    """
    from cryptography.hazmat.primitives.serialization import pkcs12

    authority = _authority(asked) if asked["ca"] else _Authority(*_make_ca())
    ca = authority.certificate
    friendly = pkcs12.PKCS12Certificate(ca, b"broker-lite-ca")
    return {
        "names": sorted(asked["names"]),
        "expires_s": int((_now() + datetime.timedelta(days=_DAYS)).timestamp()),
        "ca": _pem(ca),
        "ca_key": _key_pem(authority.key),
        "server": authority.server(asked["names"]),
        "clients": {name: authority.client(name) for name in asked["users"]},
        "truststore": _base64(pkcs12.serialize_java_truststore([friendly], _encryption())),
        "token_key": asked["token_key"] or _make_token_key(),
    }


def make_faulty(asked: Mapping[str, Any]) -> dict[str, object]:
    """Make a certificate that clients have to refuse, with its key; see the module.

    Raises:
        ImportError: the library is not installed.
        ValueError: what is given is damaged.
    """
    fault, names = asked["fault"], asked["names"]
    if fault == "self_signed":
        return {"server": _self_signed(names)}
    if fault == "unknown_ca":
        return {"server": _Authority(*_make_ca()).server(names)}
    authority = _authority(asked)
    if fault == "wrong_host":
        return {"server": authority.server([WRONG_HOST])}
    valid = {"expired": _VALID_BEFORE, "not_yet_valid": _VALID_LATER}[fault]
    return {"server": authority.server(names, valid)}


def _authority(asked: Mapping[str, Any]) -> "_Authority":
    """Return the kept CA."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    ca = load_pem_x509_certificate(asked["ca"].encode())
    key = load_pem_private_key(asked["ca_key"].encode(), None)
    return _Authority(ca, key)  # type: ignore[arg-type]


def _self_signed(names: Iterable[str]) -> str:
    """Return PEM of a key and a certificate that no CA has signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key, name = _new_key(), _name(_SERVER_NAME)
    builder = _of_server(_begun(name, name, key, _VALID), names)
    builder = builder.add_extension(x509.BasicConstraints(False, None), True)
    return _key_pem(key) + _pem(builder.sign(key, hashes.SHA256()))


class _Authority:
    """The CA, which signs certificates."""

    def __init__(self, certificate: "Certificate", key: "EllipticCurvePrivateKey") -> None:
        self.certificate = certificate
        self.key = key

    def server(self, names: Iterable[str], valid: _Validity = _VALID) -> str:
        """Return PEM of a key and its certificate."""
        key = _new_key()
        builder = _begun(_name(_SERVER_NAME), self.certificate.subject, key, valid)
        return _key_pem(key) + _pem(self._signed(_of_server(builder, names)))

    def client(self, name: str) -> dict[str, str]:
        """Return PEM and PKCS12 of a user's key and certificate."""
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import pkcs12
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = _new_key()
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = _begun(_name(name), self.certificate.subject, key, _VALID)
        certificate = self._signed(builder.add_extension(usage, False))
        store = pkcs12.serialize_key_and_certificates(
            name.encode(), key, certificate, [self.certificate], _encryption()
        )
        return {"pem": _key_pem(key) + _pem(certificate), "p12": _base64(store)}

    def _signed(self, builder: "CertificateBuilder") -> "Certificate":
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(False, None), True)
        return builder.add_extension(issuer, False).sign(self.key, hashes.SHA256())


def _make_ca() -> "tuple[Certificate, EllipticCurvePrivateKey]":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = _new_key()
    # A client that has an older CA of the same name must not take it for this one.
    name = _name(f"{_CA_NAME} {secrets.token_hex(4)}")
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    builder = _begun(name, name, key, (-_BACK_DAYS, _CA_DAYS))
    builder = builder.add_extension(x509.BasicConstraints(True, 0), True)
    return builder.add_extension(usage, True).sign(key, hashes.SHA256()), key


def _of_server(builder: "CertificateBuilder", names: Iterable[str]) -> "CertificateBuilder":
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    alternatives = x509.SubjectAlternativeName(map(_general_name, sorted(names)))
    return builder.add_extension(alternatives, False).add_extension(usage, False)


def _begun(
    subject: "Name", issuer: "Name", key: "EllipticCurvePrivateKey", valid: _Validity
) -> "CertificateBuilder":
    from cryptography import x509

    public, now = key.public_key(), _now()
    first, last = valid
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=first))
        .not_valid_after(now + datetime.timedelta(days=last))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
    )


def _make_token_key() -> dict[str, str]:
    """Return a private key for signatures of tokens, as a JWK."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    numbers = rsa.generate_private_key(_RSA_EXPONENT, _RSA_BITS).private_numbers()
    public = numbers.public_numbers
    parts = {
        "n": public.n,
        "e": public.e,
        "d": numbers.d,
        "p": numbers.p,
        "q": numbers.q,
        "dp": numbers.dmp1,
        "dq": numbers.dmq1,
        "qi": numbers.iqmp,
    }
    return {"kty": "RSA", **{name: _base64url(value) for name, value in parts.items()}}


def _new_key() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> "Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(text: str) -> "GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _encryption() -> "KeySerializationEncryption":
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption

    return BestAvailableEncryption(PASSWORD)


def _pem(certificate: "Certificate") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: "EllipticCurvePrivateKey") -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _base64url(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def main() -> int:
    """Read from standard input, write to standard output; return the exit code."""
    try:
        asked = json.loads(sys.stdin.buffer.read())
        made = (make_faulty if "fault" in asked else make)(asked)
    except ImportError:
        sys.stderr.write("it needs another package: pip install 'broker-lite[security]'\n")
        return 1
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.stderr.write("what was kept of its CA is damaged\n")
        return 1
    sys.stdout.write(json.dumps(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
