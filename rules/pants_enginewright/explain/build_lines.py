"""The line of a BUILD file that says a parameter."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Optional

NAMES = ("BUILD", "BUILD.pants")


def find_line(root: Path, address: str, parameter: str, value: Any) -> Optional[str]:
    """`engines/BUILD:5` for the field that a parameter of a target's step is called after.

    The line of the value where the field has it once, else that of the field; None where no
    field of the target has the parameter's name.
    """
    folder, _, name = address.partition("#")[0].partition(":")
    field = re.split(r"[.\[]", parameter, maxsplit=1)[0]
    for file in (root / folder / build for build in NAMES):
        if file.is_file():
            line = _line(file.read_text(encoding="utf-8"), name or Path(folder).name, field, value)
            if line is not None:
                return f"{folder}/{file.name}:{line}"
    return None


def _line(text: str, name: str, field: str, value: Any) -> Optional[int]:
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except SyntaxError:  # Pants has said so already, or it is no plain file
        return None
    for call in calls:
        said = {keyword.arg: keyword.value for keyword in call.keywords}
        own = said.get("name")
        if isinstance(own, ast.Constant) and own.value == name and field in said:
            same = [
                node.lineno
                for node in ast.walk(said[field])
                if isinstance(node, ast.Constant) and node.value == value
            ]
            return same[0] if len(same) == 1 else said[field].lineno
    return None
