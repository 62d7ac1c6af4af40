"""What each API needs (X-46 to X-62): a client without rights is refused, one with them is not."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.table import APIS
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from broker_lite.wire.structs import Struct
from tests.handler import rights_cases
from tests.handler.rights_cases import ALL_DENIALS, NEEDS_NOTHING
from tests.handler.share_rights_cases import SHARE_CASES
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

CASES = {**rights_cases.CASES, **SHARE_CASES}


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    """It has topic t, group g with an offset, and transactional id x."""
    broker.cluster.create_topic("t")
    commit = messages.OffsetCommitRequest
    partition = commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    topic = commit.OffsetCommitRequestTopic(name="t", partitions=[partition])
    broker.call("OffsetCommit", 8, group_id="g", topics=[topic])
    broker.call("FindCoordinator", 4, key_type=1, coordinator_keys=["x"])
    broker.call("InitProducerId", 4, transactional_id="x", transaction_timeout_ms=1000)
    return broker


def codes(value: object) -> Iterator[int]:
    """All error codes in a response, of whatever it is about."""
    if isinstance(value, list):
        for each in value:
            yield from codes(each)
    elif isinstance(value, Struct):
        for name in value.fields:
            field = getattr(value, name)
            if name.endswith("error_code"):
                yield field
            elif isinstance(field, (list, Struct)):
                yield from codes(field)


def ask(broker: HandlerBroker, api_key: int) -> Any:
    case = CASES[api_key]
    return broker.call(APIS[api_key].name, case.version, **case.fields(broker))


def test_x62_p46_each_api_has_a_case_or_a_reason() -> None:
    assert CASES.keys() | NEEDS_NOTHING.keys() == APIS.keys()
    assert not CASES.keys() & NEEDS_NOTHING.keys()


@pytest.mark.parametrize("api_key", CASES, ids=lambda key: APIS[key].name)
def test_x46_to_x61_without_rights_a_client_is_refused(broker: HandlerBroker, api_key: int) -> None:
    apply_acls(broker.context, acl(Operation.ALL, ResourceType.TOPIC, "other"))
    answer = ask(broker, api_key)
    denied = CASES[api_key].denied
    if callable(denied):
        assert denied(answer)
    else:
        assert set(codes(answer)) - {ErrorCode.NONE} == {denied}


@pytest.mark.parametrize("api_key", CASES, ids=lambda key: APIS[key].name)
def test_x46_to_x61_with_the_rights_it_is_not(broker: HandlerBroker, api_key: int) -> None:
    case = CASES[api_key]
    apply_acls(broker.context, *case.rights)
    answer = ask(broker, api_key)
    assert not ALL_DENIALS.intersection(codes(answer))
    if callable(case.denied):
        assert not case.denied(answer)


@pytest.mark.parametrize("api_key", CASES, ids=lambda key: APIS[key].name)
def test_x46_to_x61_each_of_the_rights_is_needed(broker: HandlerBroker, api_key: int) -> None:
    case = CASES[api_key]
    for missing in case.rights:
        apply_acls(broker.context, *(each for each in case.rights if each != missing))
        answer = ask(broker, api_key)
        assert ALL_DENIALS.intersection(codes(answer)) or (
            callable(case.denied) and case.denied(answer)
        )
