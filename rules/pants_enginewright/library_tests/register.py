"""Backend `pants_enginewright.library_tests`: pytest with the wheels of a tool environment.

For this repository's own tests, and in no vocabulary of the product.
"""

from __future__ import annotations

from typing import Any, Iterable

from pants_enginewright.library_tests import files, goal
from pants_enginewright.library_tests.targets import LibraryTestsTarget, LibraryTestTarget


def target_types() -> Iterable[Any]:
    return [LibraryTestsTarget, LibraryTestTarget]


def rules() -> Iterable[Any]:
    return [*files.rules(), *goal.rules()]
