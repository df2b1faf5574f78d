"""A machine that builds with a remote cache: a checkout, and a store and caches of its own."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workspace import TREE, Run, Workspace

CI_CONFIG = "pants.ci.toml"


@dataclass(frozen=True)
class Machine:
    workspace: Workspace
    store: Path
    caches: Path | None
    """None: the caches of the host that runs the tests, so that wheels need not be downloaded."""
    remote: str
    """Address of the server."""
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def create(
        cls, workspace: Workspace, folder: Path, remote: str, *, own_caches: bool = True
    ) -> "Machine":
        """A machine that has nothing yet; `folder` will hold its store and its caches."""
        shutil.copy2(TREE / CI_CONFIG, workspace.root / CI_CONFIG)
        return cls(workspace, folder / "store", folder / "caches" if own_caches else None, remote)

    def variables(self) -> dict[str, str]:
        caches = {"PANTS_NAMED_CACHES_DIR": str(self.caches)} if self.caches else {}
        return {
            **os.environ,
            **caches,
            "PANTS_CONFIG_FILES": CI_CONFIG,
            "PANTS_PANTSD": "false",  # Each run is a fresh runner's first one, and leaves nothing.
            "PANTS_LOCAL_STORE_DIR": str(self.store),
            "PANTS_REMOTE_STORE_ADDRESS": self.remote,
            **self.options,
        }

    def run(self, *arguments: str, **variables: str) -> Run:
        return self.workspace.run(*arguments, variables={**self.variables(), **variables})

    def forget(self) -> None:
        """Lose the store: a fresh runner of a CI service has none."""
        shutil.rmtree(self.store, ignore_errors=True)

    def largest_stored_file(self) -> int:
        """Bytes of the largest file in the store."""
        return max(path.stat().st_size for path in self.store.rglob("*") if path.is_file())
