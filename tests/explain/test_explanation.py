"""The JSON of an explanation."""

import json
import math

from broker_lite.explain import Explanation, Field, Part, Refused, State

REFUSED = Refused("CORRUPT_MESSAGE", 2, "V-20", "wrong", "crc", "1", "2")


def test_what_every_object_has() -> None:
    found = Explanation("batch", [Field(0, 4, "int32", "a", 7)])
    assert found.as_json() == {
        "kind": "batch",
        "fields": [{"offset": 0, "size": 4, "type": "int32", "path": "a", "value": 7}],
        "refused": None,
        "records": None,
    }


def test_what_it_may_have() -> None:
    wrong = Field(0, 4, "bytes", "crc", "ab", "note", "text", 3, State.REFUSED, REFUSED)
    part = Part("records", "gzip", b"12345", [Field(0, 8, "float64", "f", math.nan)])
    found = Explanation("request", [wrong], [part], [REFUSED, REFUSED], ["a note"])
    told = json.loads(json.dumps(found.as_json(), allow_nan=False))
    refusal = {
        "error": "CORRUPT_MESSAGE",
        "code": 2,
        "rule": "V-20",
        "text": "wrong",
        "path": "crc",
        "expected": "1",
        "got": "2",
    }
    assert told["refused"] == refusal
    assert told["more_refused"] == [refusal]
    assert told["notes"] == ["a note"]
    field = told["fields"][0]
    assert (field["note"], field["form"], field["left_out"]) == ("note", "text", 3)
    assert (field["state"], field["refused"]) == ("refused", refusal)
    inside = told["records"]["parts"][0]
    assert (inside["of"], inside["codec"], inside["size"]) == ("records", "gzip", 5)
    assert inside["fields"][0]["value"] == "nan"
