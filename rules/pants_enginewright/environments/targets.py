"""tool_environment, toolchain: what steps run with."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Sequence

from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    InvalidFieldException,
    SingleSourceField,
    Target,
)

from pants_enginewright.build_files.base import EnginewrightDependenciesField
from pants_enginewright.build_files.fields import (
    ChoiceField,
    FlagField,
    ListField,
    TextField,
)
from pants_enginewright.build_files.owned_files import OwnedFilesField


class WrittenFileField(SingleSourceField):
    """A file that a goal writes."""

    uses_source_roots = False
    command: ClassVar[str]
    """What writes it, with the address in the place of `{}`."""

    def validate_resolved_files(self, files: Sequence[str]) -> None:
        if not files:
            path = os.path.join(self.address.spec_path, self.value or "")
            raise InvalidFieldException(
                f"{path}, the `{self.alias}` of {self.address}, is not there. Write it with "
                f"`./pants {self.command.format(self.address)}`"
            )
        super().validate_resolved_files(files)


class RequirementsField(ListField):
    alias = "requirements"
    required = True
    help = "Requirements of the environment, as in a requirements file."


class LockField(WrittenFileField):
    alias = "lock"
    required = False
    default = None
    expected_file_extensions = (".txt",)
    command = "generate-lockfiles --resolve={}"
    help = (
        "The lock: a requirements file with a hash for each artifact, written by "
        "`./pants generate-lockfiles --resolve=NAME`. Default: the target's name plus `.txt`."
    )

    @classmethod
    def compute_value(cls, raw_value: Any, address: Any) -> Any:
        return super().compute_value(raw_value or f"{address.target_name}.txt", address)


class PythonVersionField(ChoiceField):
    alias = "python"
    choices = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
    default = "3.11"
    help = "Version of CPython, `major.minor`, that the environment is locked for and runs on."


class WithDependenciesField(FlagField):
    alias = "with_dependencies"
    default = True
    help = "Whether the lock holds what the requirements depend on, too."


class ToolEnvironmentTarget(Target):
    alias = "tool_environment"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        RequirementsField,
        LockField,
        PythonVersionField,
        WithDependenciesField,
    )
    help = "Python packages that steps run with, from a lock that pins the hash of each artifact."


class ToolchainSourceField(WrittenFileField):
    expected_file_extensions = (".toml",)
    command = "lock-toolchain {}"
    help = (
        "TOML file with `product`, `version` (all four fields), `cuda`, `environment` (address of "
        "the `tool_environment` that holds the builder), `minimum_driver`, `compute_capabilities`, "
        "`[onnx]` limits, and `[libraries]`: sha256 of each shared library that the builder loads."
    )


class ToolchainRequestField(OwnedFilesField, TextField):
    alias = "request"
    default = None
    expected = "the name of a TOML file"
    help = (
        "TOML file with what is wanted: `product`, `cuda`, `environment`, `compute_capabilities`. "
        "`./pants lock-toolchain` resolves it into the target's source."
    )


class ToolchainTarget(Target):
    alias = "toolchain"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        ToolchainSourceField,
        ToolchainRequestField,
    )
    help = "A locked inference toolchain. The builder verifies what it loaded against it."
