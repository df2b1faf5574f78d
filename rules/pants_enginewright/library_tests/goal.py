"""`./pants test` for `library_test` targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Tuple

from pants.backend.python.subsystems.pytest import PyTest
from pants.core.goals.test import (
    TestExtraEnv,
    TestFieldSet,
    TestRequest,
    TestResult,
    TestSubsystem,
)
from pants.engine.addresses import Address
from pants.engine.env_vars import EnvironmentVars, EnvironmentVarsRequest
from pants.engine.fs import (
    EMPTY_DIGEST,
    AddPrefix,
    CreateDigest,
    Digest,
    MergeDigests,
    Snapshot,
)
from pants.engine.internals.session import RunId
from pants.engine.process import FallibleProcessResult, Process, ProcessCacheScope
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.util.logging import LogLevel

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.environments.tool_environment import ToolEnvironment, ToolEnvironmentRequest
from pants_enginewright.library_tests.files import TestFiles, TestFilesRequest
from pants_enginewright.library_tests.targets import (
    AsRootField,
    DependsOnHostField,
    LibraryTestDependenciesField,
    LibraryTestEnvironmentField,
    LibraryTestExtraEnvVarsField,
    LibraryTestSourceField,
    LibraryTestTimeoutField,
)
from pants_enginewright.steps.action import ActionResult
from pants_enginewright.steps.files import Files
from pants_enginewright.steps.hermetic_process import (
    PROGRAM_CACHES,
    hermetic_process,
    process_key,
    without_caches,
)
from pants_enginewright.steps.record import RecordSteps, StepsRecord

REPORT = "report.xml"
STEP = "pytest"
"""What the record calls the run of a file of tests."""


@dataclass(frozen=True)
class LibraryTestFieldSet(TestFieldSet):
    required_fields = (LibraryTestSourceField, LibraryTestEnvironmentField)

    source: LibraryTestSourceField
    dependencies: LibraryTestDependenciesField
    tools: LibraryTestEnvironmentField
    extra_env_vars: LibraryTestExtraEnvVarsField
    timeout: LibraryTestTimeoutField
    depends_on_host: DependsOnHostField
    as_root: AsRootField
    environment: EnvironmentField


class LibraryTestRequest(TestRequest):
    tool_subsystem = PyTest
    field_set_type = LibraryTestFieldSet


def plan_test_process(
    field_set: LibraryTestFieldSet,
    files: TestFiles,
    tools: ToolEnvironment,
    arguments: Tuple[str, ...],
    variables: Mapping[str, str],
    test: TestSubsystem,
) -> Process:
    is_kept = not (test.force or field_set.depends_on_host.value)
    return hermetic_process(
        (
            *("/bin/sh", "launch.sh", tools.python_version, "start.py", "pytest"),
            *("--rootdir=.", "-p", "no:cacheprovider", "--color=no", "--basetemp=.pytest"),
            *(f"--junitxml={REPORT}", "-o", "junit_family=xunit2"),
            *(*arguments, files.test),
        ),
        f"Run pytest on {field_set.address}",
        inputs=files.digest,
        wheels=tools.wheels.digest,
        caches=PROGRAM_CACHES,
        variables={
            # Files run side by side: threads of one would slow the others down.
            "OMP_NUM_THREADS": "1",
            # hypothesis then draws the same examples each time, and no busy host fails a test.
            "CI": "true",
            **({"ENGINEWRIGHT_AS_ROOT": "1"} if field_set.as_root.value else {}),
            **variables,
        },
        output_files=(REPORT,),
        timeout_seconds=field_set.timeout.calculate_from_global_options(test),
        scope=ProcessCacheScope.SUCCESSFUL if is_kept else ProcessCacheScope.PER_SESSION,
    )


def describe_run(address: Address, process: Process, result: FallibleProcessResult) -> ActionResult:
    """The run of a file of tests, for the record."""
    # NB: no files. The report has times, and would make equal runs look different.
    return ActionResult(
        STEP, str(address), process_key(process), Files(), "{}", "", result.metadata
    )


@rule(desc="Run tests of the library", level=LogLevel.DEBUG)
async def run_library_test(
    batch: LibraryTestRequest.Batch[LibraryTestFieldSet, Any],
    pytest: PyTest,
    test: TestSubsystem,
    extra_env: TestExtraEnv,
    run_id: RunId,
) -> TestResult:
    del run_id  # Named so that every run records where the result came from.
    field_set = batch.single_element
    address = field_set.address
    origin = f"field `{LibraryTestEnvironmentField.alias}` of {address}"
    files, tools, variables = await MultiGet(
        Get(TestFiles, TestFilesRequest(field_set.source, field_set.dependencies)),
        Get(ToolEnvironment, ToolEnvironmentRequest(field_set.tools.value, origin, address)),
        Get(EnvironmentVars, EnvironmentVarsRequest(field_set.extra_env_vars.sorted())),
    )
    wheels = await Get(Digest, CreateDigest([tools.hashes()]))
    digest = await Get(Digest, MergeDigests([files.digest, wheels]))
    process = plan_test_process(
        field_set,
        TestFiles(digest, files.test),
        tools,
        tuple(pytest.args),
        {**extra_env.env, **variables},
        test,
    )
    result = await Get(FallibleProcessResult, Process, process)
    if result.exit_code == 0 and result.output_digest == EMPTY_DIGEST:
        # Tests that passed without a report: a damaged entry of a cache (`StepOutputs.damage`).
        result = await Get(FallibleProcessResult, Process, without_caches(process))
    report = await Get(Snapshot, AddPrefix(result.output_digest, address.path_safe_spec))
    await Get(
        StepsRecord, RecordSteps(f"{STEP} {address}", (describe_run(address, process, result),))
    )
    return TestResult.from_fallible_process_result(result, address, test.output, xml_results=report)


def rules() -> Iterable[Any]:
    return (*collect_rules(), *LibraryTestRequest.rules())
