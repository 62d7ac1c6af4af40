"""The two forms of what is compiled: every test with these fixtures runs against both."""

import importlib
from collections.abc import Callable
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

import broker_lite
from broker_lite.record.implementation import form_of
from broker_lite.record.loops import scan as imported_scan
from tests.support.as_written import BY_CYTHON

COMPILED: Final = {name.rpartition(".")[2]: name for name in BY_CYTHON}


@cache
def load_python(name: str) -> ModuleType:
    """Load a module as it is written, with all that it takes from other ones as it is written."""
    dotted = COMPILED[name]
    path = Path(broker_lite.__file__).parents[1] / f"{dotted.replace('.', '/')}.py"
    loader = SourceFileLoader(f"{dotted}_as_python", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    for taken, value in tuple(vars(module).items()):
        origin = str(getattr(value, "__module__", "")).rpartition(".")[2]
        if origin in COMPILED:
            setattr(module, taken, getattr(load_python(origin), taken))
    return module


def load_native(name: str) -> ModuleType:
    if form_of(imported_scan) != "native":
        pytest.skip(f"{name}.py is not compiled here")
    return importlib.import_module(COMPILED[name])


def in_both_forms(module: str) -> Callable[[pytest.FixtureRequest], ModuleType]:
    """Make a fixture with the name of a module, which gives one form after the other."""

    @pytest.fixture(scope="session", params=["python", "native"], name=module)
    def form(request: pytest.FixtureRequest) -> ModuleType:
        return load_python(module) if request.param == "python" else load_native(module)

    return form


batch_walk = in_both_forms("batch_walk")
canonical = in_both_forms("canonical")
columns = in_both_forms("columns")
compaction = in_both_forms("compaction")
encode_records = in_both_forms("encode_records")
first_record = in_both_forms("first_record")
group_totals = in_both_forms("group_totals")
key_map = in_both_forms("key_map")
locate = in_both_forms("locate")
refused = in_both_forms("refused")
rewrite = in_both_forms("rewrite")
scan = in_both_forms("scan")
synthetic = in_both_forms("synthetic")
totals = in_both_forms("totals")


@pytest.fixture(scope="session")
def python_canonical() -> ModuleType:
    return load_python("canonical")


@pytest.fixture(scope="session")
def native_canonical() -> ModuleType:
    return load_native("canonical")


@pytest.fixture(scope="session")
def python_scan() -> ModuleType:
    return load_python("scan")


@pytest.fixture(scope="session")
def native_scan() -> ModuleType:
    return load_native("scan")


@pytest.fixture(scope="session")
def python_columns() -> ModuleType:
    return load_python("columns")


@pytest.fixture(scope="session")
def native_columns() -> ModuleType:
    return load_native("columns")
