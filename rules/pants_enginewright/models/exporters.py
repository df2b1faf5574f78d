"""What the exporters write: a row for each, the same as in `enginewright.exporters.opsets`."""

from __future__ import annotations

from typing import Dict, Tuple

OPSETS: Dict[str, Tuple[int, ...]] = {"torch": (18, 19, 20, 21, 22, 23), "direct": (23,)}
