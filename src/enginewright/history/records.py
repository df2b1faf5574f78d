"""The records of a folder, one a commit, in the order of the commits."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from enginewright.commands.record_comparison import RecordedStep, read_record
from enginewright.errors import InputError, Problem, raise_if_any

_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class NamedRecord:
    name: str
    """The file's name without `.json`, such as the commit's."""
    steps: tuple[RecordedStep, ...]


def read_records(folder: Path, repository: Path | None) -> tuple[NamedRecord, ...]:
    """Every `NAME.json` of the folder.

    With `repository` the names are commits of that git repository, whole or their first digits,
    and the order is that of its history; otherwise the names decide, numbers in them as numbers.
    Raises `InputError` for all files that are no records, and all names that are no commits.
    """
    paths = sorted(folder.glob("*.json"), key=lambda path: _natural(path.stem))
    if not paths:
        expected = "NAME.json, each written by `--enginewright-record=FILE`"
        actual = "no such file" if folder.is_dir() else "no such folder"
        raise InputError(Problem("no build records", str(folder), expected, actual))
    records: list[NamedRecord] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            records.append(NamedRecord(path.stem, read_record(path)))
        except InputError as error:
            problems += error.problems
    raise_if_any(problems)
    return tuple(records) if repository is None else _by_commit(records, repository)


def _natural(name: str) -> list[tuple[int, str]]:
    """`run-9` before `run-10`."""
    parts = _NUMBER.split(name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts if part]


def _by_commit(records: Sequence[NamedRecord], repository: Path) -> tuple[NamedRecord, ...]:
    command = ["git", "-C", str(repository), "rev-list", "--all", "--topo-order", "--reverse"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        fix = "install git, or leave `--repository` out: the names of the files then decide"
        raise InputError(Problem("git could not be started", "git", fix=fix)) from error
    if listed.returncode != 0:
        actual = listed.stderr.strip()[:200]
        raise InputError(Problem("not a git repository", str(repository), actual=actual))
    commits = listed.stdout.split()
    places, problems = {}, []
    for record in records:
        found = [place for place, commit in enumerate(commits) if commit.startswith(record.name)]
        if len(found) == 1:
            places[record.name] = found[0]
            continue
        what = "several commits begin so" if found else "no commit of the repository"
        fix = "name the record after its commit, or leave `--repository` out"
        problems.append(Problem(what, f"{record.name}.json", "one commit", f"{len(found)}", fix))
    raise_if_any(problems)
    return tuple(sorted(records, key=lambda record: places[record.name]))
