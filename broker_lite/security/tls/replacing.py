"""Checks a key store that is to replace another one while the broker runs; the texts are Kafka's.

A difference to Kafka: a new key store whose certificate no CA of the trust store has signed is
taken for every listener. Kafka refuses it for the listener of the brokers.

A difference to Kafka: a new private key that does not match its certificate is refused. Kafka takes
one in PEM, and then no client can connect.
"""

from collections.abc import Iterable

from broker_lite.security.tls.names import alternative_names, printed_subject
from broker_lite.security.tls.opened import Entry
from broker_lite.security.tls.stores import ServerContext


class Incompatible(ValueError):
    """The new stores cannot replace the old ones; the text is Kafka's."""


def check_replacement(
    old: ServerContext, new: ServerContext, *, dn_may_change: bool, san_may_change: bool
) -> None:
    """Check that clients will find the names that they know.

    Args:
        old: what the listener has.
        new: what it is to have.
        dn_may_change: whether the subject may be another one.
        san_may_change: whether alternative names may be missing.

    Raises:
        Incompatible: they will not, or the listener had no trust store before.

    Rule: X-66 (SslFactory).
    """
    if not (dn_may_change and san_may_change):
        if len(new.entries) != len(old.entries):
            raise Incompatible(
                "Keystore entries do not match, existing store contains"
                f" {len(old.entries)} entries, new store contains {len(new.entries)} entries"
            )
        for before, after in zip(old.entries, new.entries, strict=True):
            if not dn_may_change:
                _check_subject(before, after)
            if not san_may_change:
                _check_alternative_names(before, after)
    if new.has_trust and not old.has_trust:
        raise Incompatible(
            "Cannot add SSL truststore to an existing listener for which no truststore was"
            " configured."
        )


def _check_subject(old: Entry, new: Entry) -> None:
    before, after = printed_subject(old.certificate), printed_subject(new.certificate)
    if before != after:
        raise Incompatible(
            "Keystore DistinguishedName does not match: "
            f" existing={{alias={old.alias}, DN={before}}}, new={{alias={new.alias}, DN={after}}}"
        )


def _check_alternative_names(old: Entry, new: Entry) -> None:
    before, after = alternative_names(old.certificate), alternative_names(new.certificate)
    if not set(after).issuperset(before):
        raise Incompatible(
            "Keystore SubjectAltNames do not match: "
            f" existing={{alias={old.alias}, SAN={_list(before)}}},"
            f" new={{alias={new.alias}, SAN={_list(after)}}}"
        )


def _list(names: Iterable[tuple[int, str]]) -> str:
    return "[" + ", ".join(f"[{kind}, {text}]" for kind, text in names) + "]"
