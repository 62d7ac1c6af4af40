from typing import Any

import pytest

from broker_lite.coordinator.classic.answers import (
    answer_leave,
    check_join,
    check_sync,
    join_refusal,
    refuse_leave,
)
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

SETTINGS = GroupSettings(session_timeout_ms_min=10, session_timeout_ms_max=20)


@pytest.mark.parametrize(
    ("group_id", "session_timeout_ms", "error_code"),
    [
        pytest.param("", 10, ErrorCode.INVALID_GROUP_ID, id="G-35-group-id"),
        pytest.param("g", 9, ErrorCode.INVALID_SESSION_TIMEOUT, id="G-35-G-01-short"),
        pytest.param("g", 21, ErrorCode.INVALID_SESSION_TIMEOUT, id="G-35-G-01-long"),
        pytest.param("g", 10, None, id="G-35-shortest"),
        pytest.param("g", 20, None, id="G-35-longest"),
    ],
)
def test_join_checks(group_id: str, session_timeout_ms: int, error_code: ErrorCode | None) -> None:
    request = messages.JoinGroupRequest(
        group_id=group_id, session_timeout_ms=session_timeout_ms, member_id="m"
    )
    refusal = check_join(request, 9, SETTINGS)
    if error_code is None:
        assert refusal is None
    else:
        assert refusal == messages.JoinGroupResponse(
            error_code=error_code, protocol_name=None, member_id="m"
        )


@pytest.mark.parametrize("version", range(10), ids=lambda version: f"G-35-v{version}")
def test_join_refusal_can_be_encoded(version: int) -> None:
    refusal = join_refusal(version, ErrorCode.INVALID_GROUP_ID, "m")
    data = messages.JoinGroupResponse.encode(refusal, version)
    decoded, _ = messages.JoinGroupResponse.decode(data, version)
    assert decoded.protocol_name == (None if version >= 7 else "")
    assert (decoded.generation_id, decoded.leader, decoded.member_id) == (-1, "", "m")


@pytest.mark.parametrize(
    ("version", "fields", "error_code"),
    [
        pytest.param(5, {}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, id="G-51-v5-none"),
        pytest.param(
            5, {"protocol_type": "a"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, id="G-51-v5-no-name"
        ),
        pytest.param(
            5,
            {"protocol_type": "a", "protocol_name": "b"},
            ErrorCode.INVALID_GROUP_ID,
            id="G-51-group-id",
        ),
        pytest.param(4, {"group_id": "g"}, None, id="G-51-v4"),
    ],
)
def test_sync_checks(version: int, fields: Any, error_code: ErrorCode | None) -> None:
    assert check_sync(messages.SyncGroupRequest(**fields), version) == error_code


def refused_leave(version: int, **fields: Any) -> Any:
    effects = Effects()
    refuse_leave(messages.LeaveGroupRequest(**fields), effects, Caller(version, "c", "/h", 7))
    ((token, response),) = effects.replies
    assert token == 7
    messages.LeaveGroupResponse.encode(response, version)
    return response


def test_g55_missing_group_before_v3() -> None:
    response = refused_leave(2, group_id="g", member_id="m")
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_g56_missing_group() -> None:
    make_member = messages.LeaveGroupRequest.MemberIdentity
    members = [make_member(member_id="m"), make_member(member_id="", group_instance_id="i")]
    response = refused_leave(5, group_id="g", members=members)
    assert response.error_code == ErrorCode.NONE
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in response.members] == [
        ("m", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", "i", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


@pytest.mark.parametrize("version", [2, 3], ids=["G-55", "G-56"])
def test_empty_group_id(version: int) -> None:
    response = refused_leave(version)
    assert (response.error_code, response.members) == (ErrorCode.INVALID_GROUP_ID, [])


def test_g56_nobody_named() -> None:
    effects = Effects()
    answer_leave(effects, Caller(3, "c", "/h", 1), [])
    assert effects.replies[0][1] == messages.LeaveGroupResponse()
