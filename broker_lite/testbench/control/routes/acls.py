"""ACLs: what there are, new ones, and which are taken away, also in the midst of what clients do.

They are those of CreateAcls and DeleteAcls, and hold from the next request of a client on.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.users.acl_rules import AclFilter, check_new
from broker_lite.errors import BrokerError, InvalidRequest
from broker_lite.handler.security.acl_changes import AclSelection, create_acls, delete_acls
from broker_lite.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from broker_lite.server.life import Life
from broker_lite.testbench.bounds import Limit
from broker_lite.testbench.control.resource import Call, OneOrMany, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.turns import Turns

_BAD_REQUEST: Final = 400
_CONFLICT: Final = 409

ResourceTypeName = Literal[
    "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"
]
OperationName = Literal[
    "ALL",
    "READ",
    "WRITE",
    "CREATE",
    "DELETE",
    "ALTER",
    "DESCRIBE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
    "CREATE_TOKENS",
    "DESCRIBE_TOKENS",
    "TWO_PHASE_COMMIT",
]
PermissionName = Literal["ALLOW", "DENY"]
# A text of the protocol has at most 32,767 bytes, and a character up to four.
Text = Annotated[str, Meta(max_length=8191)]


class NewAcl(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A new ACL.

    Attributes:
        resource_type: "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN" or
            "USER".
        name: of the resource, or how it begins; kafka-cluster for the cluster.
        pattern_type: "LITERAL", for which the name "*" is every resource, or "PREFIXED".
        principal: such as User:alice; User:* for everybody.
        host: the address of the client; * for every one.
        operation: such as "READ"; "ALL" for every one.
        permission: "ALLOW" or "DENY".
    """

    resource_type: ResourceTypeName
    name: Text
    principal: Text
    operation: OperationName
    pattern_type: Literal["LITERAL", "PREFIXED"] = "LITERAL"
    host: Text = "*"
    permission: PermissionName = "ALLOW"


class AclView(msgspec.Struct, kw_only=True):
    """An ACL that is in force, in the words of NewAcl."""

    resource_type: str
    name: str
    principal: str
    operation: str
    pattern_type: str
    host: str
    permission: str


class Acls(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """ACLs that are created together, or none of them.

    Attributes:
        acls: those that are there already stay.
    """

    acls: list[NewAcl]


class AclSelectors(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which ACLs are meant: those that have all of this.

    Attributes:
        resource_type: such as TOPIC.
        name: of the pattern.
        pattern_type: LITERAL or PREFIXED; MATCH for all patterns that a resource of the name has.
        principal: such as User:alice.
        host: an address, or *.
        operation: such as READ.
        permission: ALLOW or DENY.
    """

    resource_type: ResourceTypeName | None = None
    name: str | None = None
    pattern_type: Literal["ANY", "MATCH", "LITERAL", "PREFIXED"] = "ANY"
    principal: str | None = None
    host: str | None = None
    operation: OperationName | None = None
    permission: PermissionName | None = None


class AclPage(AclSelectors, forbid_unknown_fields=True, kw_only=True):
    """Which ACLs are listed: those that have all of this.

    Attributes:
        resource_type: such as TOPIC.
        name: of the pattern.
        pattern_type: LITERAL or PREFIXED; MATCH for all patterns that a resource of the name has.
        principal: such as User:alice.
        host: an address, or *.
        operation: such as READ.
        permission: ALLOW or DENY.
        limit: at most so many, the oldest first.
    """

    limit: Limit = 1000


async def list_acls(call: Call) -> list[AclView]:
    """List ACLs, the oldest first."""
    page, cluster, turns = call.query, _cluster(call.bench.life), Turns()
    assert isinstance(page, AclPage)
    asked, found = _filter(page), list[Acl]()
    for acl in list(cluster.acls.ids):
        if asked.selects(acl):
            found.append(acl)
            if len(found) == page.limit:
                break
        await turns.next()
    return await _views(found)


async def create(call: Call) -> list[AclView]:
    """Create ACLs, as CreateAcls does; they hold from the next request of every client on."""
    body, cluster = call.body, _cluster(call.bench.life)
    forms = body.acls if isinstance(body, Acls) else [body]
    acls, turns = list[Acl](), Turns()
    for number, form in enumerate(forms):
        assert isinstance(form, NewAcl)
        acl = _acl(form)
        try:
            check_new(acl)
        except InvalidRequest as error:
            raise ControlError(_BAD_REQUEST, str(error), f"acls[{number}]") from None
        acls.append(acl)
        await turns.next()
    _check_done(await create_acls(cluster, acls))
    return await _views(acls)


async def delete(call: Call) -> list[AclView]:
    """Take ACLs away, as DeleteAcls does, and tell which ones; all of them without a selector."""
    selectors, cluster = call.query, _cluster(call.bench.life)
    assert isinstance(selectors, AclSelectors)
    selection = AclSelection(cluster.acls.ids)
    await selection.add(_filter(selectors))
    failed = await delete_acls(cluster, selection.ids)
    _check_done([*failed.values()])
    return await _views(selection.ids)


def _cluster(life: Life) -> Cluster:
    """Return the cluster whose ACLs count.

    Raises:
        ControlError: it has no authorizer, so that none would.
    """
    if not life.cluster.settings.authorizer_class_name:
        text = (
            "the broker has no authorizer, so ACLs would change nothing; set authorizer.class.name="
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        )
        raise ControlError(_CONFLICT, text)
    return life.cluster


def _check_done(outcomes: list[BrokerError | None]) -> None:
    """Raise the first error."""
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


def _acl(form: NewAcl) -> Acl:
    return Acl(
        ResourceType[form.resource_type],
        form.name,
        PatternType[form.pattern_type],
        form.principal,
        form.host,
        Operation[form.operation],
        Permission[form.permission],
    )


async def _views(acls: Iterable[Acl]) -> list[AclView]:
    """Return what is told of ACLs; other tasks run in between."""
    found, turns = list[AclView](), Turns()
    for acl in acls:
        found.append(_view(acl))
        await turns.next()
    return found


def _view(acl: Acl) -> AclView:
    return AclView(
        resource_type=acl.resource_type.name,
        name=acl.name,
        principal=acl.principal,
        operation=acl.operation.name,
        pattern_type=acl.pattern_type.name,
        host=acl.host,
        permission=acl.permission.name,
    )


def _filter(selectors: AclSelectors) -> AclFilter:
    return AclFilter(
        ResourceType[selectors.resource_type or "ANY"],
        selectors.name,
        PatternType[selectors.pattern_type],
        selectors.principal,
        selectors.host,
        Operation[selectors.operation or "ANY"],
        Permission[selectors.permission or "ANY"],
    )


RESOURCES = (
    Resource("GET", "/v1/acls", list_acls, answer=list[AclView], query=AclPage),
    Resource(
        "POST", "/v1/acls", create, answer=list[AclView], body=OneOrMany("acls", Acls, NewAcl)
    ),
    Resource("DELETE", "/v1/acls", delete, answer=list[AclView], query=AclSelectors),
)
