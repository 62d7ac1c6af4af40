"""Lets a child process make keys and certificates, see maker."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from broker_lite.errors import SettingsError

_CHILD: Final = "broker_lite.security.one_word.maker"
_CHILD_S: Final = 60


def made_by_child(asked: Mapping[str, object], name: str) -> dict[str, Any]:
    """Return what the child makes; call it in a thread where clients wait.

    Args:
        asked: see maker.
        name: begins the line of an error.

    Raises:
        SettingsError: it cannot; one line for a person.
    """
    try:
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-P", "-m", _CHILD],
            # where this process has its modules, also if it was started without `site`
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=_CHILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SettingsError(f"{name}: certificates take too long to make") from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SettingsError(f"{name}: {reason}")
    made: dict[str, Any] = json.loads(done.stdout)
    return made
