import json

import pytest

from broker_lite.pipeline.registry.extras import MissingExtra, needed


def test_what_is_there_is_imported() -> None:
    assert needed("json") is json


def test_what_is_missing_says_how_to_get_it() -> None:
    with pytest.raises(MissingExtra, match=r"^no_such_module is needed .*broker-lite\[registry\]"):
        needed("no_such_module")
