"""Files of the plugin behind targets, so that an edit of a rule selects what it may change."""

from __future__ import annotations

from pathlib import Path

import pants_enginewright
import pytest
from pants_enginewright import register
from pants_enginewright.build_files import plugin_files

PLUGIN = Path(pants_enginewright.__file__).parent


def test_each_target_has_modules_that_are_there() -> None:
    assert {*plugin_files.MODULES} <= {target.alias for target in register.target_types()}
    named = {name for names in plugin_files.MODULES.values() for name in names}
    assert {name for name in (*named, *plugin_files.ALL) if not (PLUGIN / name).is_file()} == set()


def test_paths_are_those_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_files, "get_buildroot", lambda: str(PLUGIN.parents[1]))
    inside = PLUGIN.relative_to(PLUGIN.parents[1]).as_posix()
    assert plugin_files.plugin_files("toolchain") == (f"{inside}/environments/toolchain.py",)
    assert plugin_files.plugin_files("text_dataset") == ()
    assert plugin_files.plugin_files("of_another_plugin") == (f"{inside}/register.py",)


def test_a_repository_that_installs_the_plugin_has_none_of_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plugin_files, "get_buildroot", lambda: str(tmp_path))
    assert plugin_files.plugin_files("toolchain") == ()
