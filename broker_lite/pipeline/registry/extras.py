"""Imports the libraries of the extra `registry` when they are first needed."""

import importlib
from typing import Any


class MissingExtra(ImportError):
    """A library of the extra is not installed; the text says how to install it."""


def needed(module: str) -> Any:  # noqa: ANN401, the module itself is the type
    """Import a library of the extra `registry`.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{module} is needed to read values with a schema: pip install 'broker-lite[registry]'"
        ) from error
