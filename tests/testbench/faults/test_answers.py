"""Answers as values: what can be read, changed and sent."""

import os
from pathlib import Path

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Request
from broker_lite.log.files.open_file import FileSlice, OpenFile
from broker_lite.testbench.faults.answers import Answer, changed_request, decoded_request, joined
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.wire import messages
from tests.testbench.conftest import request_of

KIND = messages.HeartbeatRequest
BEAT = request_of(KIND, 1, KIND(group_id="g"))


def test_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    file = OpenFile(os.fspath(path))
    assert joined([b"a", FileSlice(file.fd, 2, 3, file), b"b"]) == b"a234b"
    assert joined([]) == b""


def test_an_answer_is_changed() -> None:
    answer = Answer.of(BEAT, [b"\0\0\0\0", b"\0\x10"])
    answer.throttle(7)
    answer.set_error(answer.body, "error_code", ErrorCode.ILLEGAL_GENERATION, "no room for this")
    assert answer.encoded() == [b"\0\0\0\x07\0\x16"]
    with pytest.raises(CannotApply, match="version 1 of the answer has no other"):
        answer.set_error(answer.body, "other", ErrorCode.ILLEGAL_GENERATION, "")
    answer.throttle(2**31)
    with pytest.raises(CannotApply, match="HeartbeatResponse v1"):
        answer.encoded()


def test_what_cannot_be_read() -> None:
    with pytest.raises(CannotApply, match="no answer"):
        Answer.of(BEAT, None)
    with pytest.raises(CannotApply, match="cannot be read"):
        Answer.of(BEAT, [b"\0"])
    with pytest.raises(CannotApply, match="no version 99"):
        Answer(BEAT._replace(api_version=99))
    with pytest.raises(CannotApply, match="there is no API 999"):
        Answer(BEAT._replace(api_key=999))
    with pytest.raises(CannotApply, match="the request cannot be read"):
        decoded_request(BEAT._replace(position=len(BEAT.body)))


def test_a_request_with_another_body_has_the_same_header() -> None:
    changed: Request = changed_request(BEAT, KIND(group_id="other"))
    assert bytes(changed.body[: changed.position]) == bytes(BEAT.body[: BEAT.position])
    assert decoded_request(changed) == KIND(group_id="other")
    assert not changed.body.readonly
    with pytest.raises(CannotApply, match="HeartbeatRequest v1"):
        changed_request(BEAT, KIND(group_id="g", generation_id=2**31))
