"""How a broker decides what clients may do, from its settings.

Source: StandardAuthorizer.configure; the names of super users are compared as they are written.
"""

from broker_lite.errors import SettingsError
from broker_lite.security.acls.authorizer import Authorizer
from broker_lite.security.acls.index import AclIndex
from broker_lite.security.principal import parse_principal
from broker_lite.settings import Settings


def authorizer_of(settings: Settings, acls: AclIndex) -> Authorizer:
    """Return the authorizer of a broker whose settings ask for one.

    Args:
        settings: of the broker.
        acls: of the cluster.

    Raises:
        SettingsError: a super user is not written as KIND:NAME; one line for a person.

    See: X-42.
    """
    users = [user.strip() for user in settings.super_users.split(";")]
    super_users = frozenset(user for user in users if user)
    for user in sorted(super_users):
        try:
            parse_principal(user)
        except ValueError:
            raise SettingsError(
                f"super.users: {user}: write User:NAME, and a semicolon between users"
            ) from None
    return Authorizer(
        acls,
        super_users=super_users,
        allow_if_no_acl=settings.allow_everyone_if_no_acl_found,
    )
