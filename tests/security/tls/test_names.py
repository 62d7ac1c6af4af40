"""Names as Java 17 prints them; a real Kafka 4.3.1 printed those of the first certificate."""

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from broker_lite.security.tls.names import alternative_names, printed_subject

_KEY = ec.generate_private_key(ec.SECP256R1())
_DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def _name(*attributes: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    return x509.Name([x509.NameAttribute(kind, text) for kind, text in attributes])


def certificate(subject: x509.Name, *names: x509.GeneralName) -> bytes:
    """A certificate in DER."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(_KEY.public_key())
        .serial_number(1)
        .not_valid_before(_DAY)
        .not_valid_after(_DAY + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(_KEY, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (
            _name(
                (NameOID.COUNTRY_NAME, "US"),
                (NameOID.SERIAL_NUMBER, "12"),
                (NameOID.TITLE, 'Dr "x"'),
                (NameOID.COMMON_NAME, " q\\u+=<>;#"),
            ),
            'CN=" q\\\\u+=<>;#", T="Dr \\"x\\"", SERIALNUMBER=12, C=US',
        ),
        (
            _name(
                (NameOID.COUNTRY_NAME, "US"),
                (NameOID.ORGANIZATION_NAME, "acme, inc"),
                (NameOID.ORGANIZATIONAL_UNIT_NAME, "dev"),
                (NameOID.COMMON_NAME, "localhost"),
            ),
            'CN=localhost, OU=dev, O="acme, inc", C=US',
        ),
        (_name((NameOID.EMAIL_ADDRESS, "a@b.c")), "EMAILADDRESS=a@b.c"),
        (_name((NameOID.PSEUDONYM, "p")), "OID.2.5.4.65=p"),
        (x509.Name([]), ""),
    ],
)
def test_a_subject_x66(subject: x509.Name, text: str) -> None:
    assert printed_subject(certificate(subject)) == text


def test_a_name_with_two_attributes_in_one_part_x66() -> None:
    part = x509.RelativeDistinguishedName(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "a"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "b"),
        ]
    )
    assert printed_subject(certificate(x509.Name([part]))) == "CN=a + OU=b"


def test_alternative_names_x66() -> None:
    names = (
        x509.DNSName("q"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
        x509.DirectoryName(_name((NameOID.COUNTRY_NAME, "US"), (NameOID.COMMON_NAME, "d n"))),
        x509.OtherName(x509.ObjectIdentifier("1.2.3.4"), b"\x0c\x01a"),
        x509.UniformResourceIdentifier("http://x/"),
        x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),
        x509.RFC822Name("a@b.c"),
    )
    assert alternative_names(certificate(_name(), *names)) == [
        (2, "q"),
        (7, "127.0.0.1"),
        (7, "0:0:0:0:0:0:0:1"),
        (4, "CN=d n,C=US"),
        (0, "06032a0304a0030c0161"),
        (6, "http://x/"),
        (8, "1.2.3"),
        (1, "a@b.c"),
    ]
    assert alternative_names(certificate(_name())) == []


def test_damaged_bytes() -> None:
    whole = certificate(_name((NameOID.COMMON_NAME, "a")), x509.DNSName("q"))
    for end in range(len(whole)):
        for read in (printed_subject, alternative_names):
            with pytest.raises(ValueError, match=r"."):
                read(whole[:end])
