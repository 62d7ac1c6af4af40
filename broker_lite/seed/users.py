"""Writes the SCRAM credentials of the users of a broker that is secured by one word.

A credential that is there already stays as it is, also if a client has given the user another
password.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.metadata_changes import credential_change
from broker_lite.control.users.credential_rules import CredentialPlan, Upsertion
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN
from broker_lite.settings.sources.one_word import User

_SALT_BYTES: Final = 24


async def write_users(
    cluster: Cluster, users: Iterable[User], is_stopping: Callable[[], bool]
) -> bool:
    """Write the credentials that are missing, for all mechanisms.

    Each takes some milliseconds, so the loop has its turn after each user.

    Args:
        cluster: a registered one.
        users: with their passwords.
        is_stopping: called after each user; the next start writes what is missing then.

    Returns:
        Whether all of them are written.

    Raises:
        KafkaStorageError: the metadata cannot be written.
    """
    known = cluster.scram_credentials
    for user in users:
        lacking = [number for number in HASHES if (user.name, number) not in known]
        if not lacking:
            continue
        records = []
        for number in lacking:
            plan = CredentialPlan(known)
            plan.add(_upsertion(user, number))
            records += [credential_change(*key, new) for key, new in plan.changes.values()]
        cluster.write(records)
        await checkpoint()
        if is_stopping():
            return False
    return True


def _upsertion(user: User, mechanism: int) -> Upsertion:
    """Return what a client would send for a new credential.

    See: X-16.
    """
    salt = os.urandom(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], user.password.encode(), salt, ITERATIONS_MIN)
    return Upsertion(user.name, mechanism, ITERATIONS_MIN, salt, salted)
