"""The certificates of the TLS listeners: clients may have to refuse them for a while.

What is in force ends by its own DELETE, by that of all faults, and with the life of the broker: a
reset, a restore or a restart. Open connections go on.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from broker_lite.server.life import Life
from broker_lite.settings.declared.one_word_settings import CertificateFault
from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.errors import ControlError

if TYPE_CHECKING:
    from broker_lite.server.security.certificate_faults import CertificateFaults

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


class CertificateView(msgspec.Struct, kw_only=True):
    """The certificate of a listener.

    Attributes:
        broker: its node id.
        listener: the name of the listener.
        fault: why clients have to refuse the certificate; empty if they need not.
    """

    broker: int
    listener: str
    fault: str


class CertificateChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Why clients have to refuse the certificate from now on.

    Attributes:
        fault: "expired", since yesterday; "not_yet_valid", until tomorrow; "wrong_host", it has
            another name; "self_signed", by its own key; or "unknown_ca".
        broker: the only one that has it; all if it is left out.
    """

    fault: CertificateFault
    broker: int | None = None


class CertificateOwner(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Whose certificate it is.

    Attributes:
        broker: one of them; all if it is left out.
    """

    broker: int | None = None


async def list_certificates(call: Call) -> list[CertificateView]:
    """List the TLS listeners of all brokers, with the faults of their certificates."""
    certificates = call.bench.life.certificates
    return [] if certificates is None else _views(certificates, None)


async def change_certificates(call: Call) -> list[CertificateView]:
    """Let new clients get a certificate that they have to refuse; returns when they get it.

    For an expired one, one that is not yet valid, and one of a wrong host, the broker has to have
    made its CA itself, see --security. Otherwise nothing changes.
    """
    change = call.body
    assert isinstance(change, CertificateChange)
    certificates = _found(call.bench.life, change.broker)
    await certificates.put_in_force(change.fault, change.broker)
    return _views(certificates, change.broker)


async def restore_certificates(call: Call) -> list[CertificateView]:
    """Let new clients get the right certificate again."""
    owner = call.query
    assert isinstance(owner, CertificateOwner)
    certificates = _found(call.bench.life, owner.broker)
    certificates.put_back(owner.broker)
    return _views(certificates, owner.broker)


def _found(life: Life, node_id: int | None) -> "CertificateFaults":
    """Return what changes certificates.

    Raises:
        ControlError: there are no certificates, or there is no such broker.
    """
    if node_id is not None and node_id not in life.cluster.node_ids:
        raise ControlError(_NOT_FOUND, f"there is no broker {node_id}", "broker")
    if life.certificates is None:
        text = "no listener speaks TLS; start the broker with --security ssl, mtls or sasl_ssl"
        raise ControlError(_CONFLICT, text)
    return life.certificates


def _views(certificates: "CertificateFaults", node_id: int | None) -> list[CertificateView]:
    return [
        CertificateView(
            broker=place.node_id,
            listener=place.name,
            fault="" if place.listener.faulty is None else place.listener.faulty.fault,
        )
        for place in certificates.places(node_id)
    ]


RESOURCES = (
    Resource("GET", "/v1/security/certificates", list_certificates, answer=list[CertificateView]),
    Resource(
        "PUT",
        "/v1/security/certificates",
        change_certificates,
        answer=list[CertificateView],
        body=CertificateChange,
    ),
    Resource(
        "DELETE",
        "/v1/security/certificates",
        restore_certificates,
        answer=list[CertificateView],
        query=CertificateOwner,
    ),
)
