"""The one place where the plugin writes JSON: sorted keys, two spaces, newline at the end."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def loads(text: str) -> Any:
    return json.loads(text)
