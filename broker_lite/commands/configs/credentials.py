"""Prints and changes SCRAM credentials of users, for `configs`.

Passwords stay here: the broker gets them salted, and no error has them. Kafka's tool sends the
changes of several mechanisms together, which a Kafka with KRaft refuses.

Source: ConfigCommand.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from broker_lite.client import Client, check
from broker_lite.commands.shared.kafka_errors import exception_text
from broker_lite.errors import ClientError, ErrorCode, SettingsError
from broker_lite.security.sasl.scram_keys import salted
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN, SCRAM_MECHANISMS
from broker_lite.wire import messages

_NAMES: Final = {number: name for name, number in SCRAM_MECHANISMS.items()}
_CREDENTIAL: Final = re.compile(
    r"(?:iterations=(?P<iterations>-?[0-9]{1,9}),)?password=(?P<secret>.*)"
)
_SALT_BYTES: Final = 32
_ITERATIONS_MAX: Final = 16384


def has_credentials(changes: Mapping[str, str | None]) -> bool:
    """Tell whether changes of a user are some of its credentials.

    Raises:
        SettingsError: there are others, too.
    """
    count = sum(name in SCRAM_MECHANISMS for name in changes)
    if 0 < count < len(changes):
        raise SettingsError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using"
            " --bootstrap-server."
        )
    return count > 0


def alter_credentials(client: Client, user: str, changes: Mapping[str, str | None]) -> None:
    """Set and remove credentials of a user.

    Args:
        client: of the cluster.
        user: its name.
        changes: `iterations=8192,password=secret` by mechanism; None removes a credential.

    Raises:
        SettingsError: a credential is not written so.
        ClientError: the broker refused.
    """
    requests = [_request(user, mechanism, text) for mechanism, text in changes.items()]
    node_id = client.controller_id()
    # one by one, because Kafka refuses two changes of a user in one request
    for request in requests:
        for each in client.request(request, node_id=node_id).results:
            if each.error_code:
                raise ClientError(exception_text(each.error_code, each.error_message))


def _request(
    user: str, mechanism: str, text: str | None
) -> messages.AlterUserScramCredentialsRequest:
    make = messages.AlterUserScramCredentialsRequest
    number = SCRAM_MECHANISMS[mechanism]
    if text is None:
        return make(deletions=[make.ScramCredentialDeletion(name=user, mechanism=number)])
    iterations, password = _parse(mechanism, text)
    salt = os.urandom(_SALT_BYTES)
    new = make.ScramCredentialUpsertion(
        name=user,
        mechanism=number,
        iterations=iterations,
        salt=salt,
        salted_password=salted(password, salt, iterations, HASHES[number]),
    )
    return make(upsertions=[new])


def describe_credentials(client: Client, users: Sequence[str]) -> None:
    """Print which credentials users have; those of all if none is named."""
    make = messages.DescribeUserScramCredentialsRequest
    value = make(users=[make.UserName(name=name) for name in users] or None)
    answer = client.request(value, node_id=client.controller_id())
    check("credentials", answer.error_code, answer.error_message)
    for result in answer.results:
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        check(f"user {result.user}", result.error_code, result.error_message)
        credentials = ", ".join(
            f"{_NAMES.get(each.mechanism, 'UNKNOWN')}=iterations={each.iterations}"
            for each in result.credential_infos
        )
        print(f"SCRAM credential configs for user-principal '{result.user}' are {credentials}")


def _parse(mechanism: str, text: str) -> tuple[int, str]:
    """Return iterations and password."""
    found = _CREDENTIAL.fullmatch(text)
    if found is None or not found["secret"]:
        raise SettingsError(
            f"Invalid credential property {mechanism}: it is iterations=NUMBER,password=PASSWORD"
        )
    iterations = int(found["iterations"] or ITERATIONS_MIN)
    if iterations < ITERATIONS_MIN:
        raise SettingsError(
            f"Iterations {iterations} is less than the minimum {ITERATIONS_MIN} required for"
            f" {mechanism}"
        )
    if iterations > _ITERATIONS_MAX:
        raise SettingsError(
            f"Iterations {iterations} is more than the maximum {_ITERATIONS_MAX} of {mechanism}"
        )
    return iterations, found["secret"]
