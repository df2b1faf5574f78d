"""Settings for pip and uv, as shell lines."""

from __future__ import annotations

import subprocess
from importlib.machinery import ModuleSpec
from typing import Optional, Tuple

import pytest
from pants_enginewright.environments.package_index import exports, index_variables, pip_setting


def settings(indexes: Tuple[str, ...], find_links: Tuple[str, ...], ca: Optional[str]) -> str:
    return exports(index_variables(indexes, find_links, ca))


def test_one_index() -> None:
    assert settings(("https://index.example/simple",), (), None) == (
        "export PIP_INDEX_URL=https://index.example/simple\n"
        "export UV_DEFAULT_INDEX=https://index.example/simple\n"
    )


def test_more_indexes_wheels_beside_them_and_a_certificate() -> None:
    text = settings(
        ("https://a.example", "https://b.example", "https://c.example"),
        ("/wheels", "https://d.example/"),
        "/etc/ca.pem",
    )
    assert text.splitlines() == [
        "export PIP_INDEX_URL=https://a.example",
        "export UV_DEFAULT_INDEX=https://a.example",
        "export PIP_EXTRA_INDEX_URL='https://b.example https://c.example'",
        "export UV_INDEX='https://b.example https://c.example'",
        "export PIP_FIND_LINKS='/wheels https://d.example/'",
        "export UV_FIND_LINKS=/wheels,https://d.example/",
        "export PIP_CERT=/etc/ca.pem",
        "export SSL_CERT_FILE=/etc/ca.pem",
    ]


def test_no_index_at_all() -> None:
    assert settings((), ("/wheels",), None).splitlines() == [
        "export PIP_NO_INDEX=1",
        "export UV_NO_INDEX=1",
        "export PIP_FIND_LINKS=/wheels",
        "export UV_FIND_LINKS=/wheels",
    ]


def test_a_shell_reads_what_was_meant() -> None:
    folder = "/a folder/with 'quotes' and $HOME"
    text = settings((), (folder,), None)
    script = f'{text}printf %s "$PIP_FIND_LINKS"'
    assert subprocess.check_output(["/bin/sh", "-c", script], text=True) == folder


def test_pip_is_the_one_that_installed_pants() -> None:
    spec = ModuleSpec("pip", None, origin="/a venv/site-packages/pip/__init__.py")
    assert pip_setting(spec) == "export ENGINEWRIGHT_PIP='/a venv/site-packages/pip'\n"


def test_a_python_without_pip_is_named() -> None:
    with pytest.raises(ValueError, match="has no pip to download wheels"):
        pip_setting(None)
