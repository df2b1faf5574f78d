"""The plugin's own files behind each target, for a repository that has the plugin in its tree.

They are dependencies for `--changed-dependents` alone: no step takes them in, so that an edit of a
rule selects what it may change, and runs only the steps whose inputs it did change.
"""

from __future__ import annotations

import os
import sys
from typing import Tuple

from pants.base.build_environment import get_buildroot
from pants.engine.target import FieldSet, Target
from pants.engine.unions import UnionMembership


def plugin_files(target: Target, unions: UnionMembership) -> Tuple[str, ...]:
    """The modules of all field sets that take the target in: those of its rules.

    Paths from the build root. Import inference finds what each needs. None where the plugin is
    installed from a wheel, as Pants' own always are.
    """
    root = os.path.realpath(get_buildroot())
    modules = {
        member.__module__
        for members in unions.union_rules.values()
        for member in members
        if issubclass(member, FieldSet) and member.is_applicable(target)
    }
    files = {os.path.realpath(str(sys.modules[module].__file__)) for module in modules}
    return tuple(
        sorted(os.path.relpath(file, root) for file in files if file.startswith(root + os.sep))
    )
