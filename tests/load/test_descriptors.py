"""Room for many descriptors."""

import resource
import subprocess
import sys

import pytest

from broker_lite.errors import SettingsError
from broker_lite.load.descriptors import make_room_for

PROGRAM = """
import resource
from broker_lite.load.descriptors import make_room_for
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 500))
make_room_for(50)
print(resource.getrlimit(resource.RLIMIT_NOFILE))
make_room_for(300)
print(resource.getrlimit(resource.RLIMIT_NOFILE))
make_room_for(1000)
"""


def test_the_limit_grows_as_far_as_it_may() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["(200, 500)", "(400, 500)"]
    assert done.stderr.splitlines()[-1].endswith(
        "1000 connections need 1100 open files, and a process may have 500 here: raise `ulimit -n`,"
        " or use more --processes"
    )


def test_more_than_any_process_may_have() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        make_room_for(10)
        return
    with pytest.raises(SettingsError, match="open files"):
        make_room_for(hard)
