"""`library_tests`: pytest with the wheels of a `tool_environment`, as steps have them."""

from __future__ import annotations

from pants.backend.python.target_types import (
    InterpreterConstraintsField,
    PythonDependenciesField,
    PythonGeneratingSourcesBase,
    PythonResolveField,
    PythonSourceField,
)
from pants.core.goals.test import TestExtraEnvVarsField, TestTimeoutField
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    BoolField,
    OverridesField,
    StringField,
    StringSequenceField,
    Target,
    TargetFilesGenerator,
)

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.library_tests.host import PROBES


class LibraryTestSourceField(PythonSourceField):
    """One file of tests."""


class LibraryTestsSourcesField(PythonGeneratingSourcesBase):
    default = ("test_*.py",)
    help = "Files of tests; each becomes a `library_test` target and runs in a process of its own."


class LibraryTestDependenciesField(PythonDependenciesField):
    """What imports do not tell: data files, and modules that the tests start as programs."""


class LibraryTestEnvironmentField(StringField):
    alias = "tool_environment"
    value: str
    required = True
    help = (
        "Address of the `tool_environment` target with the packages that the tests run with; "
        "pytest is one of them."
    )


class LibraryTestExtraEnvVarsField(TestExtraEnvVarsField):
    """Variables of the host that reach the tests; they have `PATH=/usr/bin:/bin` otherwise."""


class LibraryTestTimeoutField(TestTimeoutField):
    """Seconds that the file's tests may take."""


class DependsOnDevicesField(BoolField):
    alias = "depends_on_devices"
    default = False
    help = "What the tests say depends on the devices of the host: run them each time."


class HostField(StringSequenceField):
    alias = "host"
    valid_choices = tuple(PROBES)
    help = (
        "What the tests use of the host. What was found is in their key, so that they run again "
        "when it changes. A program that is missing is named before any test runs; of "
        "`namespaces`, `fuse` and `root` the tests say themselves what they do without."
    )


class WheelsField(StringSequenceField):
    alias = "wheels"
    help = (
        "Addresses of `tool_environment` targets whose wheels lie in `wheels/NAME/` where the "
        "tests run: of programs that they start."
    )


class AsRootField(BoolField):
    alias = "as_root"
    default = False
    help = (
        "Where Pants runs as root, leave the tests the power to pass over file permissions. "
        "Without it they cannot write into the store by mistake."
    )


_MOVED = (
    LibraryTestDependenciesField,
    LibraryTestEnvironmentField,
    LibraryTestExtraEnvVarsField,
    LibraryTestTimeoutField,
    DependsOnDevicesField,
    HostField,
    WheelsField,
    AsRootField,
    PythonResolveField,
    InterpreterConstraintsField,
    EnvironmentField,
)


class LibraryTestTarget(Target):
    alias = "library_test"
    core_fields = (*COMMON_TARGET_FIELDS, *_MOVED, LibraryTestSourceField)
    help = "A file of tests that pytest runs with the wheels of a `tool_environment`."


class LibraryTestsTarget(TargetFilesGenerator):
    alias = "library_tests"
    core_fields = (*COMMON_TARGET_FIELDS, LibraryTestsSourcesField, OverridesField)
    generated_target_cls = LibraryTestTarget
    copied_fields = COMMON_TARGET_FIELDS
    moved_fields = _MOVED
    help = (
        "A `library_test` target for each file of tests. A file runs again when it changes, or a "
        "module that it imports, a file that it depends on, or the lock of its environment."
    )
