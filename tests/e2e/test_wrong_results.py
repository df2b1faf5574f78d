"""Steps that end well with a wrong result: nothing of it is packaged, and the step is named.

The workspace's own copy of the library is changed to make such steps.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import reapi_server
from known_engine import (
    BUILD,
    DAEMON,
    OWN_STEPS,
    PLAN,
    KnownEngine,
    build_variant,
    stopped_afterwards,
)
from machine import Machine
from reapi_server import ReapiServer
from workspace import TREE

STEP = "src/enginewright/products/tensorrt_rtx/build.py"
MAIN = "    main(run_deterministically)\n"
RESULT = "return encode(build(TENSORRT_RTX, build_request, model, described, plan, verify_inputs))"
TIMED = RESULT.replace("return ", "return {**") + ', "warnings": [str(time.time_ns())]}'


def truncate(condition: str) -> str:
    """A program's end that cuts the plan when the step has said that all went well."""
    cut = 'os.truncate("outputs/engine.plan", 1000)'
    return f"    import atexit, os\n    atexit.register(lambda: {condition} and {cut})\n{MAIN}"


@dataclass(frozen=True)
class Site:
    first: Machine
    second: Machine

    @contextmanager
    def step_with(self, old: str, new: str) -> Iterator[None]:
        """Both machines have another `build_engine`."""
        with ExitStack() as stack:
            for machine in (self.first, self.second):
                stack.enter_context(machine.workspace.changed(STEP))
                path = machine.workspace.root / STEP
                text = path.read_text()
                assert text.count(old) == 1
                path.write_text(text.replace(old, new))
            yield


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("results")
    server = ReapiServer(reapi_server.install(folder / "programs"), folder / "server")
    known = KnownEngine.build(folder, server.address, **DAEMON)
    server.start()
    second = known.informed(folder / "second", server.address)
    with stopped_afterwards(known.machine, second):
        yield Site(known.machine, second)
    server.remove()


def test_a_step_that_truncates_its_plan(site: Site) -> None:
    with site.step_with(MAIN, truncate("True")):
        refused = build_variant(site.first, 3)
    assert refused.exit_code == 1
    assert (
        "engines:tiny_cached: step `build_engine` ended well, and its result is damaged: "
        "engine.plan is not what the step wrote"
    ) in refused.output
    assert "actual    1000 bytes, sha256 " in refused.output
    assert refused.packages == {}
    mended = build_variant(site.first, 3)
    assert mended.exit_code == 0, mended.output
    engine = "engines:tiny_cached"
    assert mended.ran == [BUILD, f"write_manifest {engine}", f"write_provenance {engine}"]
    assert mended.packages[PLAN] in refused.output  # As expected, not as it was.


def test_a_truncated_plan_that_caches_keep_under_the_right_key(site: Site, tmp_path: Path) -> None:
    fault = tmp_path / "fault"
    fault.touch()
    with site.step_with(MAIN, truncate(f'os.path.exists("{fault}")')):
        refused = build_variant(site.first, 4)
        assert refused.exit_code == 1
        assert refused.packages == {}
        fault.unlink()
        runs = [build_variant(machine, 4) for machine in (site.first, site.second)]
    for run in runs:
        assert run.exit_code == 0, run.output
        assert "the result of step `build_engine` is damaged: engine.plan is not" in run.output
        assert run.packages[PLAN] in refused.output
    assert runs[0].packages == runs[1].packages
    assert BUILD in runs[1].ran


def test_a_cached_result_that_differs_from_the_one_made_here(site: Site) -> None:
    with site.step_with(RESULT, TIMED), site.step_with("from pathlib", "import time\nfrom pathlib"):
        built = build_variant(site.first, 5)
        assert built.exit_code == 0, built.output
        refused = build_variant(site.second, 5, "--enginewright-repeat-cached")
    assert refused.exit_code == 1
    assert refused.output.count("is not deterministic: the same key gave other results.") == 1
    assert f"{BUILD} is not deterministic" in refused.output
    assert refused.packages == {}


def test_cached_results_that_are_the_same_here(site: Site) -> None:
    built = build_variant(site.first, 6)
    assert built.ran == OWN_STEPS
    repeated = build_variant(site.second, 6, "--enginewright-repeat-cached")
    assert repeated.exit_code == 0, repeated.output
    assert repeated.packages == built.packages
    steps = json.loads((site.second.workspace.root / "dist" / "record.json").read_text())["steps"]
    assert len(steps) == 9
    assert [step["repeated"] for step in steps] == [step["outputs"] for step in steps]


def test_two_machines_whose_records_differ_for_the_same_key(site: Site, tmp_path: Path) -> None:
    with site.step_with(RESULT, TIMED), site.step_with("from pathlib", "import time\nfrom pathlib"):
        for machine, options in (
            (site.first, {}),
            (site.second, {"PANTS_REMOTE_CACHE_READ": "false", "PANTS_PANTSD": "false"}),
        ):
            run = build_variant(machine, 7, **options)
            assert run.ran == OWN_STEPS, run.output
            record = machine.workspace.root / "dist" / "record.json"
            shutil.copyfile(record, tmp_path / f"{len(list(tmp_path.iterdir()))}.json")
    done = subprocess.run(
        [sys.executable, "-m", "enginewright", "record", "0.json", "1.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TREE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.count("NOT DETERMINISTIC") == 1
    assert f"{BUILD} is not deterministic: the same key gave other results." in done.stdout
