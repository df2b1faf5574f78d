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
from pants.core.util_rules.partitions import Partition, PartitionerType, Partitions
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

from pants_enginewright.build_files.addresses import TargetOfKind, TargetOfKindRequest
from pants_enginewright.compat import EnvironmentField
from pants_enginewright.environments.interpreter import (
    Interpreter,
    InterpreterNotFoundError,
    InterpreterRequest,
)
from pants_enginewright.environments.tool_environment import (
    ToolEnvironment,
    ToolEnvironmentKind,
    ToolEnvironmentRequest,
)
from pants_enginewright.library_tests import host
from pants_enginewright.library_tests.files import (
    ProgramWheels,
    ProgramWheelsRequest,
    TestFiles,
    TestFilesRequest,
)
from pants_enginewright.library_tests.host import (
    HostFacts,
    HostFactsRequest,
    MissingOnHostError,
)
from pants_enginewright.library_tests.targets import (
    AsRootField,
    DependsOnDevicesField,
    HostField,
    LibraryTestDependenciesField,
    LibraryTestEnvironmentField,
    LibraryTestExtraEnvVarsField,
    LibraryTestSourceField,
    LibraryTestTimeoutField,
    WheelsField,
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
    depends_on_devices: DependsOnDevicesField
    as_root: AsRootField
    host: HostField
    wheels: WheelsField
    environment: EnvironmentField

    def asks_of_host(self, variables: Mapping[str, str]) -> HostFactsRequest:
        """`variables` are those of the host that reach the tests."""
        names = {*(self.host.value or ()), *(("root",) if self.as_root.value else ())}
        return HostFactsRequest.create(names, variables)

    def asks_for_tools(self) -> ToolEnvironmentRequest:
        return self._environment(self.tools.alias, self.tools.value)

    def asks_for_wheels(self) -> ProgramWheelsRequest:
        specs = self.wheels.value or ()
        return ProgramWheelsRequest(tuple(self._environment(self.wheels.alias, s) for s in specs))

    def _environment(self, alias: str, spec: str) -> ToolEnvironmentRequest:
        return ToolEnvironmentRequest(spec, f"field `{alias}` of {self.address}", self.address)


class LibraryTestRequest(TestRequest):
    tool_subsystem = PyTest
    field_set_type = LibraryTestFieldSet
    partitioner_type = PartitionerType.CUSTOM


def plan_test_process(
    field_set: LibraryTestFieldSet,
    files: TestFiles,
    tools: ToolEnvironment,
    arguments: Tuple[str, ...],
    variables: Mapping[str, str],
    test: TestSubsystem,
) -> Process:
    is_kept = not (test.force or field_set.depends_on_devices.value)
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


@dataclass(frozen=True)
class OneFile:
    """Says nothing of a partition, which is a file of tests in a process of its own."""

    description: None = None


@rule(desc="Look for what tests need of the host", level=LogLevel.DEBUG)
async def partition_library_tests(
    request: LibraryTestRequest.PartitionRequest[LibraryTestFieldSet], pytest: PyTest
) -> Partitions[LibraryTestFieldSet, OneFile]:
    """Pants asks for this before it runs any test, of any kind."""
    if pytest.skip:
        return Partitions()
    here = [f for f in request.field_sets if f.environment.value == EnvironmentField.default]
    variables = await MultiGet(
        Get(EnvironmentVars, EnvironmentVarsRequest(f.extra_env_vars.sorted())) for f in here
    )
    facts = await MultiGet(
        Get(HostFacts, HostFactsRequest, field_set.asks_of_host(own))
        for field_set, own in zip(here, variables)  # noqa: B905
    )
    missing = {program for found in facts for program in found.missing}
    environments = await MultiGet(
        Get(TargetOfKind, TargetOfKindRequest, tools.of_kind(ToolEnvironmentKind))
        for tools in {f.tools.value: f.asks_for_tools() for f in here}.values()
    )
    for minor in {found.of(ToolEnvironmentKind).python.value for found in environments}:
        try:
            await Get(Interpreter, InterpreterRequest(minor))
        except InterpreterNotFoundError:
            missing.add(f"python{minor} (on PATH or in pyenv)")
    if missing:
        raise MissingOnHostError(missing)
    return Partitions(Partition((field_set,), OneFile()) for field_set in request.field_sets)


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
    files, tools, wheels, variables = await MultiGet(
        Get(TestFiles, TestFilesRequest(field_set.source, field_set.dependencies)),
        Get(ToolEnvironment, ToolEnvironmentRequest, field_set.asks_for_tools()),
        Get(ProgramWheels, ProgramWheelsRequest, field_set.asks_for_wheels()),
        Get(EnvironmentVars, EnvironmentVarsRequest(field_set.extra_env_vars.sorted())),
    )
    hashes, facts = await MultiGet(
        Get(Digest, CreateDigest([tools.hashes()])),
        Get(HostFacts, HostFactsRequest, field_set.asks_of_host(variables)),
    )
    digest = await Get(Digest, MergeDigests([files.digest, hashes, wheels.digest]))
    process = plan_test_process(
        field_set,
        TestFiles(digest, files.test),
        tools,
        tuple(pytest.args),
        {**extra_env.env, **variables, **facts.variables},
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
    return (*collect_rules(), *LibraryTestRequest.rules(), *host.rules())
