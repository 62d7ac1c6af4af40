"""The two forms of what is compiled: every test with these fixtures runs against both."""

import importlib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

import broker_lite.record
from broker_lite.record import scan as imported_scan
from broker_lite.record.implementation import form_of


def load_as_python(name: str) -> ModuleType:
    path = Path(broker_lite.record.__file__).parent / f"{name}.py"
    loader = SourceFileLoader(f"broker_lite.record.{name}_as_python", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def load_python_scan() -> ModuleType:
    return load_as_python("scan")


def load_python_columns() -> ModuleType:
    """All Python: with the cursor of the Python scan."""
    module = load_as_python("columns")
    module.RecordCursor = load_python_scan().RecordCursor  # type: ignore[attr-defined]
    return module


def load_native(name: str) -> ModuleType:
    if form_of(imported_scan) != "native":
        pytest.skip(f"{name}.py is not compiled here")
    return importlib.import_module(f"broker_lite.record.{name}")


def load_native_scan() -> ModuleType:
    return load_native("scan")


@pytest.fixture(scope="session")
def python_scan() -> ModuleType:
    return load_python_scan()


@pytest.fixture(scope="session")
def native_scan() -> ModuleType:
    return load_native_scan()


@pytest.fixture(scope="session", params=["python", "native"])
def scan(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_scan() if request.param == "python" else load_native_scan()


@pytest.fixture(scope="session")
def python_columns() -> ModuleType:
    return load_python_columns()


@pytest.fixture(scope="session")
def native_columns() -> ModuleType:
    return load_native("columns")


@pytest.fixture(scope="session", params=["python", "native"])
def columns(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_columns() if request.param == "python" else load_native("columns")


def load_python_encode_records() -> ModuleType:
    """All Python: it copies as the Python columns do."""
    module = load_as_python("encode_records")
    module.copy_bytes = load_python_columns().copy_bytes  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="session", params=["python", "native"])
def encode_records(request: pytest.FixtureRequest) -> ModuleType:
    if request.param == "python":
        return load_python_encode_records()
    return load_native("encode_records")


def load_python_synthetic() -> ModuleType:
    """All Python: it copies as the Python columns do."""
    module = load_as_python("synthetic")
    module.copy_bytes = load_python_columns().copy_bytes  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="session", params=["python", "native"])
def synthetic(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_synthetic() if request.param == "python" else load_native("synthetic")


@pytest.fixture(scope="session", params=["python", "native"])
def key_map(request: pytest.FixtureRequest) -> ModuleType:
    return load_as_python("key_map") if request.param == "python" else load_native("key_map")


def load_python_survivors() -> ModuleType:
    """All Python, with what it takes from the other modules."""
    module = load_as_python("survivors")
    module.RecordCursor = load_python_scan().RecordCursor  # type: ignore[attr-defined]
    module.copy_bytes = load_python_columns().copy_bytes  # type: ignore[attr-defined]
    module.KeyMap = load_as_python("key_map").KeyMap  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="session", params=["python", "native"])
def survivors(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_survivors() if request.param == "python" else load_native("survivors")


def load_python_rewrite() -> ModuleType:
    """All Python, with what it takes from the other modules."""
    module = load_as_python("rewrite")
    module.RecordCursor = load_python_scan().RecordCursor  # type: ignore[attr-defined]
    module.copy_bytes = load_python_columns().copy_bytes  # type: ignore[attr-defined]
    encode_records = load_python_encode_records()
    module.sized_bytes = encode_records.sized_bytes  # type: ignore[attr-defined]
    module.varlong_size_bytes = encode_records.varlong_size_bytes  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="session", params=["python", "native"])
def rewrite(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_rewrite() if request.param == "python" else load_native("rewrite")


def load_python_locate() -> ModuleType:
    """All Python: with the cursor of the Python scan."""
    module = load_as_python("locate")
    module.RecordCursor = load_python_scan().RecordCursor  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="session", params=["python", "native"])
def locate(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_locate() if request.param == "python" else load_native("locate")


@pytest.fixture(scope="session", params=["python", "native"])
def refused(request: pytest.FixtureRequest) -> ModuleType:
    return load_as_python("refused") if request.param == "python" else load_native("refused")


def load_python_first_record() -> ModuleType:
    """All Python: with the cursor of the Python scan."""
    module = load_as_python("first_record")
    module.RecordCursor = load_python_scan().RecordCursor  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="session", params=["python", "native"])
def first_record(request: pytest.FixtureRequest) -> ModuleType:
    return load_python_first_record() if request.param == "python" else load_native("first_record")
