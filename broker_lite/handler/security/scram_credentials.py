"""DescribeUserScramCredentials (50), AlterUserScramCredentials (51): SCRAM credentials of users.

They are kept in the metadata log, as in Kafka (KIP-554). Clients of SASL listeners log in with
them.

A difference to Kafka: a client that asks for the credentials of all users (null) without the right
to DESCRIBE the cluster loses its connection. Kafka never answers it.

Not done: leaving a client without an answer that may not ask for all users.
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
from broker_lite.errors import ClusterAuthorizationFailed, ErrorCode
from broker_lite.handler.authorized import check_cluster, is_allowed_on_cluster
from broker_lite.handler.codec import code_and_message, decode, encode, encode_long
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.security.changes_in_turns import write_in_turns
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Answer for which mechanisms users have credentials.

    Rule: P-165.
    See: X-59.
    """
    body = decode(messages.DescribeUserScramCredentialsRequest, request)
    types = messages.DescribeUserScramCredentialsResponse
    if not is_allowed_on_cluster(context, Operation.DESCRIBE):
        return encode(types, _denied(body), request)
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


def _denied(
    body: messages.DescribeUserScramCredentialsRequest,
) -> messages.DescribeUserScramCredentialsResponse:
    """Refuse to describe credentials.

    Raises:
        CloseConnection: the request asks for all users; Kafka fails on that, and never answers.

    See: X-59 (DescribeUserScramCredentialsRequest.getErrorResponse).
    """
    if body.users is None:
        raise CloseConnection("credentials of all users are asked for without the right to them")
    types = messages.DescribeUserScramCredentialsResponse
    code, text = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
    results = [
        types.DescribeUserScramCredentialsResult(error_code=code, error_message=text)
        for _ in body.users
    ]
    return types(error_code=code, error_message=text, results=results)


async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Add, replace and delete credentials.

    See: P-164, X-60.
    """
    body = decode(messages.AlterUserScramCredentialsRequest, request)
    types = messages.AlterUserScramCredentialsResponse
    try:
        check_cluster(context, Operation.ALTER)
    except ClusterAuthorizationFailed as error:
        names = {one.name: None for some in (body.deletions, body.upsertions) for one in some}
        told = code_and_message(error)
        refused = [types.AlterUserScramCredentialsResult(user=name, **told) for name in names]
        return encode(types, types(results=refused), request)
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
