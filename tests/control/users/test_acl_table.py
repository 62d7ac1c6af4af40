"""ACLs as the records of the metadata log give and take them."""

from broker_lite.control.cluster.metadata_changes import acl_creation, acl_removal
from broker_lite.control.users.acl_table import AclTable
from broker_lite.security.acls.acl import Acl, Operation, Permission, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl

ID, OTHER_ID = b"a" * 16, b"b" * 16
TOPIC = ResourceType.TOPIC


def add(table: AclTable, acl_id: bytes, one: Acl) -> None:
    table.apply_entry(acl_creation(acl_id, one).value)


def remove(table: AclTable, acl_id: bytes) -> None:
    table.apply_removal(acl_removal(acl_id).value)


def test_an_acl_is_there_by_id_and_the_id_by_the_acl() -> None:
    table = AclTable()
    read = acl(Operation.READ)
    add(table, ID, read)
    assert (dict(table.by_id), dict(table.ids)) == ({ID: read}, {read: ID})
    remove(table, ID)
    assert (dict(table.by_id), dict(table.ids)) == ({}, {})
    remove(table, ID)


def test_the_index_follows_every_change() -> None:
    table = AclTable()
    add(table, ID, acl(Operation.READ))
    index = table.index()
    assert table.index() is index
    add(table, OTHER_ID, acl(Operation.WRITE))
    assert index.find("User:alice", "h", TOPIC, "t") == (24, 0)
    remove(table, ID)
    assert index.find("User:alice", "h", TOPIC, "t") == (16, 0)
    remove(table, OTHER_ID)
    assert index.find("User:alice", "h", TOPIC, "t") is None


def test_an_id_that_comes_again_has_a_new_acl() -> None:
    table = AclTable()
    index = table.index()
    add(table, ID, acl(Operation.READ))
    add(table, ID, acl(Operation.WRITE))
    assert index.find("User:alice", "h", TOPIC, "t") == (16, 0)
    assert list(table.ids) == [acl(Operation.WRITE)]


def test_an_acl_with_two_ids_is_there_until_the_last_one_is_removed() -> None:
    table = AclTable()
    index = table.index()
    add(table, ID, acl(Operation.READ))
    add(table, OTHER_ID, acl(Operation.READ))
    remove(table, ID)
    assert index.find("User:alice", "h", TOPIC, "t") == (8, 0)
    remove(table, OTHER_ID)
    assert index.find("User:alice", "h", TOPIC, "t") is None


def test_codes_of_a_later_release_are_unknown_ones() -> None:
    table = AclTable()
    table.apply_entry(
        messages.AccessControlEntryRecord(
            id=ID, resource_type=99, pattern_type=99, operation=99, permission_type=99
        )
    )
    (found,) = table.ids
    assert found.resource_type is ResourceType.UNKNOWN
    assert found.operation is Operation.UNKNOWN
    assert found.permission is Permission.UNKNOWN
