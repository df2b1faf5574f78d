"""Which files of which revision are pinned."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from urllib.parse import quote

from enginewright.errors import Problem, raise_if_any

HUGGING_FACE = "https://huggingface.co/{repository}/resolve/{revision}/{file}"
"""The hub's address of a file: https://huggingface.co/docs/huggingface_hub/guides/download."""
FIELDS = ("repository", "revision", "file")
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class PinRequest:
    repository: str
    """Such as `Qwen/Qwen3-0.6B`."""
    revision: str
    """A commit: a branch or tag may name other files tomorrow."""
    files: tuple[str, ...]
    """Paths inside the repository."""
    url_template: str = HUGGING_FACE

    def __post_init__(self) -> None:
        """Raises `InputError` with all problems."""
        problems = []
        if not COMMIT.fullmatch(self.revision):
            problems.append(
                Problem(
                    "not a commit: a branch or tag can move",
                    "--revision",
                    "the 40 hex digits of a commit",
                    repr(self.revision),
                    "the page of the repository's history shows them",
                )
            )
        problems += [*self._template_problems(), *self._file_problems()]
        raise_if_any(problems)

    def _template_problems(self) -> list[Problem]:
        wanted = ", ".join(f"{{{field}}}" for field in FIELDS)
        try:
            parsed = list(string.Formatter().parse(self.url_template))
            used = {field for _, field, _, _ in parsed if field is not None}
        except ValueError as error:
            return [Problem(f"not a template: {error}", "--url-template", wanted)]
        if not used <= {*FIELDS} or "file" not in used:
            return [Problem("wrong fields", "--url-template", wanted, ", ".join(sorted(used)))]
        return []

    def _file_problems(self) -> list[Problem]:
        by_name: dict[str, list[str]] = {}
        for file in self.files:
            by_name.setdefault(file.rpartition("/")[2], []).append(file)
        problems = [
            Problem("two files of the same name", "FILE", "names that differ", ", ".join(files))
            for files in by_name.values()
            if len(files) > 1
        ]
        if "config.json" not in by_name:
            problems.append(Problem("no configuration", "FILE", "config.json among the files"))
        if not any(name.endswith(".safetensors") for name in by_name):
            problems.append(Problem("no weights", "FILE", "a .safetensors file among the files"))
        return problems

    def url(self, file: str) -> str:
        return self.url_template.format(
            repository=self.repository, revision=self.revision, file=quote(file)
        )
