"""The form of selectors."""

import msgspec
import pytest

from broker_lite.testbench.selectors import Selectors


def test_an_unknown_selector_is_an_error_that_names_it() -> None:
    with pytest.raises(msgspec.ValidationError, match="apii"):
        msgspec.convert({"apii": 1}, Selectors)
