"""The garbage collector is off while any of the work on many objects goes on."""

import gc

import pytest

from broker_lite.handler.uncollected import uncollected


def test_it_is_on_again_when_the_last_work_has_ended() -> None:
    with uncollected():
        with pytest.raises(ZeroDivisionError), uncollected():
            1 / 0  # noqa: B018
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
