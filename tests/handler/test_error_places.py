"""The table of what APIs name: each row fits the schema."""

from typing import Any

from broker_lite.handler.error_places import ROWS
from broker_lite.wire import messages


def test_the_rows_name_what_the_schema_has() -> None:
    """A row that no version has would never count."""
    for key, rows in ROWS.items():
        request, response = messages.by_api(key)
        for row in rows:
            names: tuple[str, str] = (request.name, response.name)
            for level in row.levels:
                names = _below(names, level, request.structs, response.structs)
            assert row.error in {field.attribute for field in response.structs[names[1]]}
            attributes = {field.attribute for field in response.structs[names[1]]}
            assert row.defaults.keys() <= attributes


def _below(names: Any, level: Any, request: Any, response: Any) -> tuple[str, str]:
    inner = []
    for name, attribute, keys, structs in (
        (names[0], level.request, level.request_keys, request),
        (names[1], level.response, level.response_keys, response),
    ):
        if not attribute:
            inner.append(name)
            continue
        field = {each.attribute: each for each in structs[name]}[attribute]
        assert field.is_array
        inner.append(field.element_type)
        if field.is_struct:
            has = {each.attribute for each in structs[field.element_type]}
            assert set(keys) - {"topic_id"} <= has
    return inner[0], inner[1]
