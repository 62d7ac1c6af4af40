"""The two forms of scan.py: every test with the fixture runs against both."""

import importlib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

import broker_lite.record
from broker_lite.record import scan_implementation


def load_python_scan() -> ModuleType:
    path = Path(broker_lite.record.__file__).parent / "scan.py"
    loader = SourceFileLoader("broker_lite.record.scan_as_python", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def load_native_scan() -> ModuleType:
    if scan_implementation() != "native":
        pytest.skip("scan.py is not compiled here")
    return importlib.import_module("broker_lite.record.scan")


@pytest.fixture(scope="session")
def python_scan() -> ModuleType:
    return load_python_scan()


@pytest.fixture(scope="session")
def native_scan() -> ModuleType:
    return load_native_scan()


@pytest.fixture(scope="session", params=["python", "native"])
def scan(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_scan() if request.param == "python" else load_native_scan()
