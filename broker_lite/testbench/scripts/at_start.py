"""The script of a broker that is started with one: checked before the start, run from then on."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from broker_lite.errors import SettingsError
from broker_lite.testbench.control.control import Control
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.scripts.files import is_record, read_script_file
from broker_lite.testbench.scripts.form import Record, Script
from broker_lite.testbench.scripts.prepare import Prepared
from broker_lite.testbench.scripts.runs import prepared

if TYPE_CHECKING:
    from broker_lite.testbench.bench import Bench


def read(path: str, control: Control) -> Prepared:
    """Return the script of a file, checked.

    Raises:
        SettingsError: it cannot be read, or is wrong; one line with the path and the place.
    """
    found = read_script_file(path)
    try:
        if is_record(found):
            return prepared(msgspec.convert(found, Record, str_keys=True), control.check)
        return prepared(msgspec.convert(found, Script, str_keys=True), control.check)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {error}") from None
    except ControlError as error:
        raise SettingsError(f"{path}: {error.at}: {error.text}") from None


async def run(script: Prepared, bench: "Bench", control: Control) -> "asyncio.Task[None]":
    """Run a script; return the task that logs its outcome.

    Raises:
        SettingsError: it cannot run here.
    """
    try:
        started = await bench.scripts.start(script, control.carry_out)
    except ControlError as error:
        raise SettingsError(f"the script: {error.at}: {error.text}") from None
    return asyncio.get_running_loop().create_task(started.tell_outcome())
