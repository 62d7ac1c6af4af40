"""Certificates that clients have to refuse, each for one reason.

| fault | what is wrong with the certificate |
| --- | --- |
| `expired` | it was valid until yesterday |
| `not_yet_valid` | it will be valid from tomorrow on |
| `wrong_host` | its only name is one that nobody has |
| `self_signed` | it is signed by its own key, and by no CA |
| `unknown_ca` | it is signed by a CA that was made for it alone |

All else is as it should be: the names of the last two, and of the first two, are those of the
certificate in whose place it is.
"""

from collections.abc import Sequence
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.child import made_by_child
from broker_lite.security.one_word.client_settings import key_and_certificate
from broker_lite.security.one_word.keep import Kept
from broker_lite.security.tls.opened import first_entry
from broker_lite.security.tls.store_files import PEM, PEM_ALIAS, Store
from broker_lite.settings.declared.one_word_settings import CertificateFault

_WITHOUT_CA: Final[Sequence[CertificateFault]] = ("self_signed", "unknown_ca")


def faulty_keys(
    fault: CertificateFault, names: Sequence[str], certificate: bytes, kept: Kept | None
) -> Store:
    """Return a key store with a certificate that clients have to refuse.

    A child process makes it; call this in a thread where clients wait.

    Args:
        fault: why they refuse it.
        names: by which clients reach the broker.
        certificate: the one that it takes the place of, in DER.
        kept: what the data directory has; None if that is nothing.

    Raises:
        SettingsError: it cannot be made here; one line for a person.
    """
    asked: dict[str, object] = {"fault": fault, "names": [*names], "ca": "", "ca_key": ""}
    if fault not in _WITHOUT_CA:
        if kept is None or not _is_kept(certificate, kept):
            raise SettingsError(
                f"a certificate with the fault {fault} needs the key of the listener's CA, which is"
                " only known if broker-lite has made it (broker.lite.security); without it there"
                f" are {' and '.join(_WITHOUT_CA)}"
            )
        asked |= {"ca": kept.ca, "ca_key": kept.ca_key}
    made = made_by_child(asked, f"a certificate with the fault {fault}")
    key, faulty = key_and_certificate(made["server"])
    return Store(PEM, None, key=key, certificates=faulty)


def _is_kept(certificate: bytes, kept: Kept) -> bool:
    """Tell whether the kept CA has signed a certificate of the broker."""
    entries = first_entry(kept.server.encode(), PEM_ALIAS)
    return any(entry.certificate == certificate for entry in entries)
