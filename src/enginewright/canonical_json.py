"""The one place where the library writes JSON: sorted keys, two spaces, newline at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enginewright.errors import InputError, Problem


def dumps(value: Any) -> str:
    """Text that is equal for equal values; NaN and infinities raise `ValueError`."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write(path: Path, value: Any) -> None:
    path.write_text(dumps(value), encoding="utf-8")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; raise `InputError` naming the file and line for anything else."""
    value = _read(path)
    if not isinstance(value, dict):
        raise InputError(Problem("not a JSON object", str(path), "{...}", type(value).__name__))
    return value


def read_list(path: Path) -> list[Any]:
    """Read a JSON list; raise `InputError` naming the file and line for anything else."""
    value = _read(path)
    if not isinstance(value, list):
        raise InputError(Problem("not a JSON list", str(path), "[...]", type(value).__name__))
    return value


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except UnicodeDecodeError as error:
        raise InputError(Problem("not a JSON file", str(path), "UTF-8 text", str(error))) from error
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise InputError(Problem("not valid JSON", where, actual=error.msg)) from error
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(Problem("not valid JSON", str(path), actual=str(error)[:200])) from error
    except RecursionError as error:
        raise InputError(Problem("JSON is nested too deeply", str(path))) from error
