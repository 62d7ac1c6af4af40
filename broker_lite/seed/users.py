"""Writes the SCRAM credentials of the users of a broker that is secured by one word.

A credential that is there already stays as it is, also if a client has given the user another
password.
"""

import hashlib
import os
from collections.abc import Iterable
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.metadata_changes import credential_change
from broker_lite.control.users.credential_rules import CredentialPlan, Upsertion
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN
from broker_lite.settings.sources.one_word import User

_SALT_BYTES: Final = 24


def write_users(cluster: Cluster, users: Iterable[User]) -> None:
    """Write the credentials that are missing, for all mechanisms.

    Raises:
        KafkaStorageError: the metadata cannot be written.
    """
    records = []
    for mechanism, function in HASHES.items():
        plan = CredentialPlan(cluster.scram_credentials)
        for user in users:
            if (user.name, mechanism) not in cluster.scram_credentials:
                plan.add(_upsertion(user, mechanism, function))
        records += [credential_change(*key, new) for key, new in plan.changes.values()]
    if records:
        cluster.write(records)


def _upsertion(user: User, mechanism: int, function: str) -> Upsertion:
    """Return what a client would send for a new credential.

    See: X-16.
    """
    salt = os.urandom(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(function, user.password.encode(), salt, ITERATIONS_MIN)
    return Upsertion(user.name, mechanism, ITERATIONS_MIN, salt, salted)
