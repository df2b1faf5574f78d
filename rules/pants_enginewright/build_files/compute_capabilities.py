"""The field that says for which GPUs something is built."""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from pants_enginewright.build_files.fields import ListField, thaw

COMPUTE_CAPABILITY = re.compile(r"([1-9]\d*)\.(\d)([a-z]?)")


class ComputeCapabilitiesField(ListField):
    alias = "compute_capabilities"
    required = True
    expected = "a list of compute capabilities such as '8.6'; the toolchain says which it supports"
    help = "GPUs that the engine is built for."

    @staticmethod
    def accepts(item: str) -> bool:
        return COMPUTE_CAPABILITY.fullmatch(item) is not None

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if self.value == ():
            yield f"field `{self.alias}` is empty; expected {self.expected}"
        elif self.is_valid() and len(set(self.value)) < len(self.value):
            yield f"field `{self.alias}` has value {thaw(self.value)!r}; expected each one once"

    def in_order(self) -> List[str]:
        """From the oldest to the newest: the order in which they are written changes nothing."""
        return sorted(self.value, key=_age)


def _age(capability: str) -> Tuple[int, int, str]:
    match = COMPUTE_CAPABILITY.fullmatch(capability)
    assert match is not None, capability
    return int(match[1]), int(match[2]), match[3]
