"""No step needs the network once its tools are installed.

Engines are built and tested twice, with other keys for the same work: once as usual, which installs
the tools, and once where the only network device is a loopback that nobody listens on.
"""

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from workspace import Run, Workspace

TARGETS = ["engines:tiny", "engines:tiny_accuracy", "engines:tiny_cached"]
PROTOCOL = "src/enginewright/step.py"
"""Every step imports it, so that an edit of it changes the key of each."""
AS_USER = () if os.geteuid() == 0 else ("--map-root-user",)
WITHOUT_NETWORK = ("unshare", *AS_USER, "--net")


@dataclass(frozen=True)
class Runs:
    usual: Run
    cut_off: Run


@pytest.fixture(scope="module", autouse=True)
def allowed() -> None:
    done = subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this host lets nobody cut off the network: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    workspace = Workspace.create(tmp_path_factory.mktemp("network") / "repository")
    # No daemon: it would lie outside, with the network.
    arguments = ("--no-pantsd", "package", "test", *TARGETS)
    usual = workspace.run(*arguments)
    protocol = workspace.root / PROTOCOL
    protocol.write_text(protocol.read_text() + "\n# Another key.\n")
    return Runs(usual, replace(workspace, within=WITHOUT_NETWORK).run(*arguments))


def test_the_network_is_cut_off() -> None:
    devices, routes = (
        subprocess.check_output([*WITHOUT_NETWORK, "cat", path], text=True, timeout=60).splitlines()
        for path in ("/proc/net/dev", "/proc/net/route")
    )
    # Two lines of headings in the first, one in the second.
    assert [line.partition(":")[0].strip() for line in devices[2:]] == ["lo"]
    assert routes[1:] == []


def test_every_step_runs_without_network(runs: Runs) -> None:
    assert runs.usual.exit_code == 0, runs.usual.output
    assert runs.cut_off.exit_code == 0, runs.cut_off.output
    assert runs.cut_off.steps == runs.usual.steps
    assert runs.cut_off.ran == runs.usual.steps
    assert {step.partition(" ")[0] for step in runs.cut_off.ran} == {
        "build_engine",
        "check_engine",
        "check_graph",
        "check_weights",
        "compare_builds",
        "convert_weights",
        "estimate_size",
        "export_direct",
        "export_onnx",
        "judge_accuracy",
        "measure_accuracy",
        "verify_checkpoint",
        "write_manifest",
        "write_provenance",
    }


def test_the_packages_are_the_same(runs: Runs) -> None:
    # The provenance has the keys of the steps, and those are other ones here.
    kept, usual = (
        {
            path: found
            for path, found in run.packages.items()
            if Path(path).name != "provenance.json"
        }
        for run in (runs.cut_off, runs.usual)
    )
    assert kept == usual
    assert "engines/tiny/bom.cdx.json" in kept
    plans = [path for path in runs.cut_off.packages if Path(path).name == "engine.plan"]
    assert plans == ["engines/tiny/engine.plan", "engines/tiny_cached/engine.plan"]
