"""Who a client is, as the broker knows it after authentication."""

from typing import Final, NamedTuple

USER: Final = "User"


class Principal(NamedTuple):
    """A kind, nearly always User, and a name; written User:alice.

    See: X-38 (KafkaPrincipal).
    """

    kind: str
    name: str

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"{self.kind}:{self.name}"

    @property
    def is_by_token(self) -> bool:
        """True if the client logged in with a delegation token."""
        return False


class TokenPrincipal(Principal):
    """The owner of a delegation token, with which a client logged in; equal to the owner itself."""

    __slots__ = ()

    @property
    def is_by_token(self) -> bool:  # type: ignore[explicit-override]
        """True."""
        return True


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
"""Everybody who did not say who it is: on a plain listener, or on a TLS one without a certificate.

See: X-38.
"""


def parse_principal(text: str) -> Principal:
    """Parse KIND:NAME, as in super.users and in ACLs; the name may have colons.

    Raises:
        ValueError: there is no kind or no name.
    """
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return Principal(kind, name)
