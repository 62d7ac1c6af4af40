"""The names were written by X500Principal.getName() of Java 17, for these bytes.

Also tests: broker_lite.security.tls.der.
"""

import ssl
from pathlib import Path

import pytest

from broker_lite.security.tls.subject import subject_of
from tests.support.certificates import write_certificates

_SUBJECTS = [
    (
        "CN=alice,OU=dev,O=acme,C=US",
        "303a310b3009060355040613025553310d300b060355040a130461636d65310c300a060355040b13036465763"
        "10e300c06035504031305616c696365",
    ),
    (
        r"CN=a\,b\=c\+d\<e\>f\#g\;h\"i\\j,O=x",
        "302a310a3008060355040a130178311c301a06035504030c13612c623d632b643c653e6623673b6822695c6a",
    ),
    (
        r"CN=\ lead and trail\ ,O=\#x",
        "3028310b3009060355040a0c0223783119301706035504031310206c65616420616e6420747261696c20",
    ),
    (
        "CN=Zo\u00eb,ST=S,L=L,STREET=st,DC=d,UID=u",
        "305a3111300f060a0992268993f22c6401011301753111300f060a0992268993f22c640119160164310b30090"
        "60355040913027374310a3008060355040713014c310a30080603550408130153310d300b06035504030c045a"
        "6fc3ab",
    ),
    (
        "1.2.840.113549.1.9.1=#16056140622e63,2.5.4.5=#13023132,CN=m",
        "302f310a3008060355040313016d310b30090603550405130231323114301206092a864886f70d01090116056"
        "140622e63",
    ),
    (
        "CN=a+OU=b,O=z",
        "3022310a3008060355040a13017a3114300806035504031301613008060355040b130162",
    ),
]


def _sequence(content: bytes) -> bytes:
    size = len(content)
    head = bytes([0x30, size]) if size < 128 else bytes([0x30, 0x82]) + size.to_bytes(2, "big")
    return head + content


def _certificate(subject: bytes, version: bytes = b"\xa0\x03\x02\x01\x02") -> bytes:
    empty = _sequence(b"")
    return _sequence(_sequence(version + b"\x02\x01\x05" + empty * 3 + subject + empty) + empty)


@pytest.mark.parametrize(("name", "subject"), _SUBJECTS)
def test_a_subject_as_java_writes_it_x38(name: str, subject: str) -> None:
    assert subject_of(_certificate(bytes.fromhex(subject))) == name
    assert subject_of(_certificate(bytes.fromhex(subject), version=b"")) == name


def test_the_subject_of_a_whole_certificate_x38(tmp_path: Path) -> None:
    pem = write_certificates(tmp_path).client.read_text()
    chain = pem[pem.index("-----BEGIN CERTIFICATE") :]
    first = chain[: chain.index("-----END CERTIFICATE-----") + 26]
    assert subject_of(ssl.PEM_cert_to_DER_cert(first)).startswith("CN=alice,")


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x30",
        b"\x31\x00",
        b"\x30\x02\x30\x00",
        b"\x30\x80\x00",
        b"\x30\x85\x01\x01\x01\x01\x01",
        _certificate(b"\x31\x00"),
        _certificate(bytes.fromhex("3004310230000000")),
        _certificate(bytes.fromhex("300a310830060600130161")),
        _certificate(b"\x30\x00")[:-3],
        _certificate(_sequence(b"\x31\x50" + _sequence(b"\x06\x4b" + b"\x88" * 75 + b"\x13\x01a"))),
    ],
)
def test_bytes_that_are_no_certificate(damaged: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        subject_of(damaged)
