"""ACLs of a broker under test; they hold from the next request of a client on."""

from typing import Final, Literal, TypeAlias
from urllib.parse import urlencode

from broker_lite.testing.controlled import Controlled, elements, given, members

ResourceType: TypeAlias = Literal[
    "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"
]
_PATH: Final = "/v1/acls"
_LIMIT: Final = 10_000


class AclCommands(Controlled):
    """What gives rights to clients and takes them away, also in the midst of what they do."""

    def acls(
        self, resource_type: ResourceType | None = None, name: str | None = None, **selectors: str
    ) -> list[dict[str, object]]:
        """Return the ACLs, the oldest first; only those that have all that is given.

        Args:
            resource_type: such as TOPIC.
            name: of the pattern.
            selectors: principal="User:alice", operation="READ", permission="ALLOW", host="*",
                pattern_type="PREFIXED", or "MATCH" for all that a resource of the name has.

        Raises:
            BrokerFailed: the broker has no authorizer, or a word is not Kafka's.
        """
        listed = {**selectors, "limit": str(_LIMIT)}
        return _acls(self.control("GET", _path(resource_type, name, listed)))

    def add_acl(
        self,
        resource_type: ResourceType,
        name: str,
        principal: str,
        operation: str,
        *,
        pattern_type: Literal["LITERAL", "PREFIXED"] = "LITERAL",
        host: str = "*",
        permission: Literal["ALLOW", "DENY"] = "ALLOW",
    ) -> None:
        """Create an ACL, if it is not there yet: `add_acl("TOPIC", "t", "User:alice", "WRITE")`.

        Args:
            resource_type: such as TOPIC.
            name: of the resource, or how it begins; kafka-cluster for the cluster.
            principal: such as User:alice; User:* for everybody.
            operation: such as READ, or ALL.
            pattern_type: LITERAL, for which the name * is every resource, or PREFIXED.
            host: the address of the client; * for every one.
            permission: ALLOW or DENY.

        Raises:
            BrokerFailed: the broker has no authorizer, or there cannot be such an ACL.
        """
        body = {
            "resource_type": resource_type,
            "name": name,
            "principal": principal,
            "operation": operation,
            "pattern_type": pattern_type,
            "host": host,
            "permission": permission,
        }
        self.control("POST", _PATH, body)

    def remove_acls(
        self, resource_type: ResourceType | None = None, name: str | None = None, **selectors: str
    ) -> list[dict[str, object]]:
        """Take the ACLs away that have all that is given, and return them; without that all.

        Args:
            resource_type: such as TOPIC.
            name: of the pattern.
            selectors: see acls().

        Raises:
            BrokerFailed: the broker has no authorizer, or a word is not Kafka's.
        """
        return _acls(self.control("DELETE", _path(resource_type, name, selectors)))


def _path(resource_type: str | None, name: str | None, selectors: dict[str, str]) -> str:
    query = {**given({"resource_type": resource_type, "name": name}), **selectors}
    return f"{_PATH}?{urlencode(query)}"


def _acls(answer: object) -> list[dict[str, object]]:
    return [members(each) for each in elements(answer)]
