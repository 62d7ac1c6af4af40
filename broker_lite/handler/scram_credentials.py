"""DescribeUserScramCredentials (50), AlterUserScramCredentials (51), version 0: users for SCRAM.

They are kept in the metadata log, as in Kafka (KIP-554).

Not done: logging in with them, since every listener is PLAINTEXT.
"""

from collections import Counter
from typing import Final

from broker_lite.control.changes import credential_change
from broker_lite.control.scram_credentials import Credentials, Upsertion, plan_credentials
from broker_lite.errors import ErrorCode, KafkaStorageError
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

MIN_VERSION: Final = 0
MAX_VERSION: Final = 0


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Tell which mechanisms users have credentials for.

    Rule: P-60.50.
    """
    body = decode(messages.DescribeUserScramCredentialsRequest, request)
    types = messages.DescribeUserScramCredentialsResponse
    credentials = context.cluster.scram_credentials
    by_user: dict[str, list[tuple[int, int]]] = {}
    for (name, mechanism), credential in credentials.items():
        by_user.setdefault(name, []).append((mechanism, credential.iterations))
    asked = Counter(user.name for user in body.users or ()) or Counter(by_user.keys())
    results = []
    for name, count in asked.items():
        result = types.DescribeUserScramCredentialsResult(user=name, error_message="")
        if count > 1:
            result.error_code = ErrorCode.DUPLICATE_RESOURCE
            result.error_message = (
                "Cannot describe SCRAM credentials for the same user twice in a single request: "
                f"{name}"
            )
        elif name not in by_user:
            result.error_code = ErrorCode.RESOURCE_NOT_FOUND
            result.error_message = (
                f"Attempt to describe a user credential that does not exist: {name}"
            )
        else:
            result.credential_infos = [
                types.CredentialInfo(mechanism=mechanism, iterations=iterations)
                for mechanism, iterations in sorted(by_user[name])
            ]
        results.append(result)
    return encode(types, types(error_message="", results=results), request)


async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Add, replace and delete credentials.

    Rule: P-60.50.
    """
    body = decode(messages.AlterUserScramCredentialsRequest, request)
    types = messages.AlterUserScramCredentialsResponse
    deletions = [(one.name, one.mechanism) for one in body.deletions]
    upsertions = [
        Upsertion(one.name, one.mechanism, one.iterations, one.salt, one.salted_password)
        for one in body.upsertions
    ]
    current: Credentials = context.cluster.scram_credentials
    changes, outcomes = plan_credentials(current, deletions, upsertions)
    try:
        context.cluster.write([credential_change(*key, one) for key, one in changes.items()])
    except KafkaStorageError as error:
        outcomes.update({name: error for name, _ in changes})
    results = [
        types.AlterUserScramCredentialsResult(user=name, **code_and_message(error))
        for name, error in outcomes.items()
    ]
    return encode(types, types(results=results), request)
