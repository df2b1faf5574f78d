"""Files of the plugin behind targets, so that an edit of a rule selects what it may change."""

from __future__ import annotations

from pathlib import Path
from typing import Type

import pants_enginewright
import pytest
from pants.engine.addresses import Address
from pants.engine.target import Target
from pants.engine.unions import UnionMembership, UnionRule
from pants_enginewright import register
from pants_enginewright.build_files import plugin_files
from pants_enginewright.environments.targets import ToolchainTarget
from pants_enginewright.models.targets import QuantizedModelTarget
from pants_enginewright.validation.targets import EngineTestTarget

PLUGIN = Path(pants_enginewright.__file__).parent
HERE = Address("here", target_name="it")
UNIONS = UnionMembership.from_rules(r for r in register.rules() if isinstance(r, UnionRule))


@pytest.mark.parametrize(
    ("kind", "modules"),
    [
        (ToolchainTarget, ("environments/toolchain.py",)),
        (QuantizedModelTarget, ("goals/package.py", "models/quantized_model.py")),
        (
            EngineTestTarget,
            ("goals/test.py", "validation/device_test.py", "validation/validation.py"),
        ),
    ],
)
def test_the_modules_of_the_rules_that_take_a_target(
    kind: Type[Target], modules: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_files, "get_buildroot", lambda: str(PLUGIN.parents[1]))
    fields = {"model": ":m", "method": "int8", "engine": ":e", "request": "t.toml", "source": "t"}
    own = {f.alias: fields[f.alias] for f in kind.core_fields if f.alias in fields}
    inside = PLUGIN.relative_to(PLUGIN.parents[1]).as_posix()
    assert plugin_files.plugin_files(kind(own, HERE), UNIONS) == tuple(
        f"{inside}/{module}" for module in modules
    )


def test_a_repository_that_installs_the_plugin_has_none_of_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plugin_files, "get_buildroot", lambda: str(tmp_path))
    assert plugin_files.plugin_files(ToolchainTarget({"source": "t.toml"}, HERE), UNIONS) == ()
