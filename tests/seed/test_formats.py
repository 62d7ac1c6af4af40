import csv
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import SettingsError
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.formats import read_records
from broker_lite.seed.lines import Lines

WriteFile = Callable[[str, str | bytes], str]

TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FIELDS = st.fixed_dictionaries(
    {"topic": st.text("abc", min_size=1, max_size=3), "key": TEXTS, "value": TEXTS},
    optional={
        "partition": st.none() | st.integers(0, 2**31 - 1),
        "headers": st.none() | st.lists(st.tuples(st.text("ab"), TEXTS), max_size=3),
        "timestamp": st.none() | st.integers(0, 2**63 - 1),
    },
)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _expected(fields: dict[str, object], line: int) -> SeedRecord:
    headers = fields.get("headers") or ()
    assert isinstance(headers, list | tuple)
    return SeedRecord(
        line,
        str(fields["topic"]),
        fields.get("partition"),  # type: ignore[arg-type]
        _encoded(fields["key"]),  # type: ignore[arg-type]
        _encoded(fields["value"]),  # type: ignore[arg-type]
        tuple((name.encode(), _encoded(value)) for name, value in headers),
        fields.get("timestamp"),  # type: ignore[arg-type]
    )


@settings(max_examples=50)
@given(st.lists(FIELDS, max_size=5), st.booleans())
def test_json_lines_round_trip(rows: list[dict[str, object]], escaped: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.jsonl"
        text = "".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows)
        path.write_text(text, "utf-8", newline="")
        found = list(read_records(Lines(str(path))))
    assert found == [_expected(row, line) for line, row in enumerate(rows, 1)]


@settings(max_examples=50)
@given(st.lists(FIELDS, max_size=5))
def test_csv_round_trip(rows: list[dict[str, object]]) -> None:
    names = ("topic", "value", "key", "headers", "timestamp", "partition")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for row in rows:
                cells = dict(row, headers=json.dumps(row["headers"])) if "headers" in row else row
                writer.writerow([cells.get(name) for name in names])
        found = list(read_records(Lines(str(path))))
    # a cell cannot tell an empty text from none
    kept = [{name: None if cell == "" else cell for name, cell in row.items()} for row in rows]
    assert [one[1:] for one in found] == [_expected(row, 0)[1:] for row in kept]


def test_blank_lines_are_left_out_and_counted(write_file: WriteFile) -> None:
    path = write_file("seed.ndjson", '\n{"topic":"a"}\n  \n {"topic":"b"} \r\n{"topic":"c"}')
    assert [(one.line, one.topic) for one in read_records(Lines(path))] == [
        (2, "a"),
        (4, "b"),
        (5, "c"),
    ]


def test_a_row_may_have_many_lines(write_file: WriteFile) -> None:
    path = write_file("seed.CSV", 'Topic, value\r\n\r\na,"x\ny, ""z"""\r\nb,\r\n')
    assert [(one.line, one.topic, one.value) for one in read_records(Lines(path))] == [
        (3, "a", b'x\ny, "z"'),
        (5, "b", None),
    ]


def test_a_cell_may_be_large_and_the_limit_of_others_stays(write_file: WriteFile) -> None:
    limit = csv.field_size_limit()
    path = write_file("seed.csv", f"topic,value\na,{'x' * 1_000_000}\n")
    assert [len(one.value or b"") for one in read_records(Lines(path))] == [1_000_000]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("name", ["seed.csv", "seed.jsonl", "seed.json"])
def test_an_empty_file_has_no_records(name: str, write_file: WriteFile) -> None:
    assert list(read_records(Lines(write_file(name, "")))) == []


@pytest.mark.parametrize("name", ["seed", "seed.txt", "seed.jsonl.gz"])
def test_other_files_are_refused(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_records(Lines(name))
    expected = f"{name}: a seed file is called .jsonl or .ndjson or .json or .csv"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{,", "no JSON: Expecting property name enclosed in double quotes, at character 2"),
        ("  x", "no JSON: Expecting value, at character 3"),
        ('{"topic":"t"} x', "no JSON: Extra data, at character 15"),
        ('{"topic":"t","value":NaN}', "no JSON: NaN is no JSON"),
        ('{"topic":"t","value":' + "9" * 5000 + "}", "no JSON: Exceeds the limit"),
        ("[" * 100_000, "no JSON: maximum recursion depth exceeded"),
        ('["t"]', 'not an object such as {"topic": "t", "value": "v"}'),
        ('{"topic":"t","value":1e999}', "value: Out of range float values"),
        ('{"value":"v"}', "topic: has to be a text"),
    ],
    ids=lambda value: value[:20],
)
def test_json_lines_that_are_none(line: str, reason: str, write_file: WriteFile) -> None:
    path = write_file("seed.jsonl", '{"topic":"t"}\n' + line + "\n")
    with pytest.raises(SettingsError) as caught:
        list(read_records(Lines(path)))
    assert str(caught.value).startswith(f"{path}:2: {reason}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("key,value\n", "1: each column once, one of them topic"),
        ("topic,topic\n", "1: each column once, one of them topic"),
        ("topic,name\n", "1: column name: no such field; there are topic, partition, key"),
        ("topic,value\na\n", "2: 1 cells, the first row has 2"),
        ("topic,value\n\na,b,c\n", "3: 3 cells, the first row has 2"),
        ('topic,value\na,"b"c\n', "2: no CSV: ',' expected after '\"'"),
        ('topic,value\na,"b\nc\n', "2: no CSV: unexpected end of data"),
        ("topic,value\na,b\rc\n", "2: no CSV: new-line character seen in unquoted field"),
        ("topic,partition\na,b\n", "2: partition: b is no partition"),
        ("topic,partition\na,-1\n", "2: partition: -1 is no partition"),
        ("topic,timestamp\na,-1\n", "2: timestamp: -1 is no time as ISO 8601 has it"),
        ("topic,headers\na,x\n", "2: headers: no JSON: Expecting value, at character 1"),
        ('topic,headers\na,"""x"""\n', "2: headers: neither an object nor a list of pairs"),
        ("topic,value\n,b\n", "2: topic: has to be a text"),
    ],
)
def test_csv_that_is_none(text: str, reason: str, write_file: WriteFile) -> None:
    path = write_file("seed.csv", text)
    with pytest.raises(SettingsError) as caught:
        list(read_records(Lines(path)))
    assert str(caught.value).startswith(f"{path}:{reason}")
