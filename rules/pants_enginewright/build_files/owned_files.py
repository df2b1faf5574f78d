"""Files that a target names by a field other than its sources."""

from __future__ import annotations

import os
from typing import Tuple

from pants.engine.target import SecondaryOwnerMixin
from pants.source.filespec import Filespec


class OwnedFilesField(SecondaryOwnerMixin):
    """Makes the target the owner of the named files, so that `--changed-since` selects it."""

    @property
    def names(self) -> Tuple[str, ...]:
        """File names as written, relative to where the target's files come from."""
        value = self.value  # type: ignore[attr-defined]
        if isinstance(value, str):
            return (value,)
        return tuple(item for item in value or () if isinstance(item, str))

    @property
    def filespec(self) -> Filespec:
        folder = self.address.spec_path  # type: ignore[attr-defined]
        return {"includes": [os.path.join(folder, name) for name in self.names]}
