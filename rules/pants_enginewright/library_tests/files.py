"""What a file of tests needs: the modules that it imports, its data, and its packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.backend.python.subsystems.pytest import PyTest
from pants.backend.python.target_types import PythonSourceField
from pants.core.target_types import FileSourceField, ResourceSourceField
from pants.core.util_rules.config_files import ConfigFiles, ConfigFilesRequest
from pants.core.util_rules.source_files import SourceFiles, SourceFilesRequest
from pants.core.util_rules.stripped_source_files import StrippedSourceFiles
from pants.engine.addresses import Addresses, UnparsedAddressInputs
from pants.engine.fs import AddPrefix, CreateDigest, Digest, MergeDigests
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import (
    DependenciesRequest,
    FieldSet,
    InferDependenciesRequest,
    InferredDependencies,
    SourcesField,
    Targets,
    TransitiveTargets,
    TransitiveTargetsRequest,
)
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel

from pants_enginewright.environments.targets import ToolEnvironmentTarget
from pants_enginewright.environments.tool_environment import ToolEnvironment, ToolEnvironmentRequest
from pants_enginewright.library_tests.targets import (
    LibraryTestDependenciesField,
    LibraryTestEnvironmentField,
    LibraryTestSourceField,
    WheelsField,
)
from pants_enginewright.steps import library
from pants_enginewright.steps.launch import launch_files


@dataclass(frozen=True)
class TestFilesRequest:
    source: LibraryTestSourceField
    dependencies: LibraryTestDependenciesField


@dataclass(frozen=True)
class TestFiles:
    """A test's sandbox: modules under `__library/`, all else where it is in the tree."""

    digest: Digest
    test: str
    """Path of the file of tests."""


@rule(desc="Collect the files of a test", level=LogLevel.DEBUG)
async def collect_test_files(request: TestFilesRequest, pytest: PyTest) -> TestFiles:
    direct = await Get(Targets, DependenciesRequest(request.dependencies))
    # A tool environment brings its wheels; the rules that it depends on are for selection alone.
    roots = [t.address for t in direct if not isinstance(t, ToolEnvironmentTarget)]
    transitive = await Get(TransitiveTargets, TransitiveTargetsRequest(roots))
    fields = [t[SourcesField] for t in transitive.closure if t.has_field(SourcesField)]
    modules, data, test, config, programs = await MultiGet(
        Get(
            StrippedSourceFiles,
            SourceFilesRequest(
                fields,
                for_sources_types=(PythonSourceField, ResourceSourceField),
                enable_codegen=True,
            ),
        ),
        Get(
            SourceFiles,
            SourceFilesRequest(fields, for_sources_types=(FileSourceField,), enable_codegen=True),
        ),
        Get(SourceFiles, SourceFilesRequest([request.source])),
        Get(ConfigFiles, ConfigFilesRequest, pytest.config_request([])),
        Get(Digest, CreateDigest, launch_files("launch.sh", "start.py")),
    )
    under_library = await Get(Digest, AddPrefix(modules.snapshot.digest, library.FOLDER))
    snapshots = [data.snapshot, test.snapshot, config.snapshot]
    digests = [under_library, programs, *(snapshot.digest for snapshot in snapshots)]
    return TestFiles(await Get(Digest, MergeDigests(digests)), test.files[0])


@dataclass(frozen=True)
class ProgramWheelsRequest:
    """Asks for what the field `wheels` names."""

    environments: Tuple[ToolEnvironmentRequest, ...]


@dataclass(frozen=True)
class ProgramWheels:
    """Wheels at `wheels/NAME/`, by the names of their environments' targets."""

    digest: Digest


@rule(desc="Collect the wheels of programs that a test starts", level=LogLevel.DEBUG)
async def collect_program_wheels(request: ProgramWheelsRequest) -> ProgramWheels:
    found = await MultiGet(
        Get(ToolEnvironment, ToolEnvironmentRequest, r) for r in request.environments
    )
    folders = await MultiGet(
        Get(Digest, AddPrefix(tools.wheels.digest, f"wheels/{tools.address.target_name}"))
        for tools in found
        if tools.address
    )
    return ProgramWheels(await Get(Digest, MergeDigests(folders)))


@dataclass(frozen=True)
class LibraryTestDependenciesFieldSet(FieldSet):
    required_fields = (LibraryTestEnvironmentField, LibraryTestDependenciesField)

    tools: LibraryTestEnvironmentField
    wheels: WheelsField


class InferLibraryTestDependencies(InferDependenciesRequest[LibraryTestDependenciesFieldSet]):
    infer_from = LibraryTestDependenciesFieldSet


@rule(desc="Infer the tool environments of a test")
async def infer_library_test_dependencies(
    request: InferLibraryTestDependencies,
) -> InferredDependencies:
    field_set = request.field_set
    addresses = await MultiGet(
        Get(
            Addresses,
            UnparsedAddressInputs(
                values,
                owning_address=field_set.address,
                description_of_origin=f"field `{alias}` of {field_set.address}",
            ),
        )
        for alias, values in (
            (field_set.tools.alias, [field_set.tools.value]),
            (field_set.wheels.alias, list(field_set.wheels.value or ())),
        )
    )
    return InferredDependencies([address for group in addresses for address in group])


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(InferDependenciesRequest, InferLibraryTestDependencies),
    )
