"""R-34, R-37 on both forms: where keys and values are."""

from types import ModuleType

import pytest

from broker_lite.record.builder import encode_record
from broker_lite.record.loops.scan_status import ScanStatus
from tests.record.loops.test_scan import ANY_READER, BY_READER, GOOD

OK, INVALID, ENDED, _, REMAINING = ScanStatus


@pytest.mark.parametrize("name", [*ANY_READER, *BY_READER])
def test_r_34_keys_and_values_have_the_status_of_the_full_reader(
    locate: ModuleType, name: str
) -> None:
    data, status = (ANY_READER | BY_READER)[name][:2]
    found = locate.locate_keys_and_values(memoryview(data), 0, len(data), 1)
    assert found[0] == status
    assert len(found[1]) == (status in (OK, REMAINING))


def test_r_37_keys_and_values_are_located(locate: ModuleType) -> None:
    data = encode_record(0, 0, b"key", b"value") + encode_record(0, 1, None, None)
    buffer = memoryview(b"\0" + data)
    status, (first, second) = locate.locate_keys_and_values(buffer, 1, 1 + len(data), 2)
    assert status == OK
    assert bytes(buffer[first[0] : first[1]]) == b"key"
    assert bytes(buffer[first[2] : first[3]]) == b"value"
    assert (second[0], second[2]) == (-1, -1)


@pytest.mark.parametrize(("count", "status"), [(-1, INVALID), (0, OK), (3, ENDED), (1, REMAINING)])
def test_r_37_keys_and_values_by_count(locate: ModuleType, count: int, status: int) -> None:
    data = GOOD * 2
    assert locate.locate_keys_and_values(memoryview(data), 0, len(data), count)[0] == status
