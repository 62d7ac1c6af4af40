"""DescribeUserScramCredentials (50), AlterUserScramCredentials (51): SCRAM credentials of users.

They are kept in the metadata log, as in Kafka (KIP-554). Clients of SASL listeners log in with
them.

Not done: delegation tokens, with which clients could log in instead.
"""

from collections import Counter

from broker_lite.control.cluster.metadata_changes import credential_change
from broker_lite.control.metadata.metadata_records import MetadataRecord
from broker_lite.control.users.credential_rules import (
    CredentialPlan,
    Key,
    ScramCredential,
    Upsertion,
)
from broker_lite.errors import ErrorCode
from broker_lite.handler.codec import code_and_message, decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.security.changes_in_turns import write_in_turns
from broker_lite.wire import messages


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Answer for which mechanisms users have credentials.

    Rule: P-165.
    """
    body = decode(messages.DescribeUserScramCredentialsRequest, request)
    types = messages.DescribeUserScramCredentialsResponse
    credentials = context.cluster.scram_credentials
    by_user: dict[str, list[tuple[int, int]]] = {}
    for (name, mechanism), credential in credentials.items():
        by_user.setdefault(name, []).append((mechanism, credential.iterations))
    asked = Counter(user.name for user in body.users or ()) or Counter(by_user.keys())
    results = []
    async for name, count in in_turns(asked.items()):
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

    See: P-164.
    """
    body = decode(messages.AlterUserScramCredentialsRequest, request)
    types = messages.AlterUserScramCredentialsResponse
    plan = CredentialPlan(context.cluster.scram_credentials)
    async for one in in_turns(body.deletions):
        plan.add((one.name, one.mechanism))
    async for new in in_turns(body.upsertions):
        plan.add(Upsertion(new.name, new.mechanism, new.iterations, new.salt, new.salted_password))

    def make_records(_: str, change: tuple[Key, ScramCredential | None]) -> list[MetadataRecord]:
        key, credential = change
        return [credential_change(*key, credential)]

    plan.outcomes.update(await write_in_turns(context.cluster, plan.changes, make_records))
    results = (
        types.AlterUserScramCredentialsResult(user=name, **code_and_message(error))
        for name, error in plan.outcomes.items()
    )
    response = types(results=lazily(len(plan.outcomes), results))
    return await encode_long(types, response, request)
