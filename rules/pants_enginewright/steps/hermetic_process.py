"""The one place where processes are made: what they see of the host, and how caches know them."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Iterable, Mapping, Optional

from pants.engine.fs import EMPTY_DIGEST, Digest
from pants.engine.process import InteractiveProcess, Process, ProcessCacheScope
from pants.util.frozendict import FrozenDict
from pants.util.logging import LogLevel

VARIABLES = FrozenDict({"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
"""All that a process sees of an environment: no `HOME`, no user, no language of the host."""

WHEELS = "__wheels"
"""Folder of a sandbox with the wheels of its tool environment."""

# Named caches by their folders in a sandbox: outside of every digest, and in no key.
PYTHON_CACHE = FrozenDict({"enginewright_python": ".python"})
INDEX_CACHE = FrozenDict({"enginewright_downloads": ".index"})
PIP_CACHE = FrozenDict({"enginewright_pip": ".pip-cache"})
UV_CACHE = FrozenDict({"enginewright_uv": ".uv-cache"})
PROGRAM_CACHES = FrozenDict({**PYTHON_CACHE, "enginewright_tools": ".tools"})
"""What the programs of `launch/` need: CPython, and the unpacked wheels."""
PROGRESS = "enginewright_progress"
"""Name of the cache that steps report to, and of the metadata that says which file is whose."""
PROGRESS_CACHE = FrozenDict({PROGRESS: ".progress"})

LOOKUP_FIRST = 600_000
"""Milliseconds that a process waits for the answer of the remote cache before it starts.

Not in the key. Pants' default is 0: it starts the process beside the lookup, and ends it when the
answer is a hit, so that a fresh host would begin to download torch only to throw it away. A miss
starts the process at once; no answer is a miss after `[GLOBAL].remote_cache_rpc_timeout_millis`.
"""


def hermetic_process(
    argv: Iterable[str],
    description: str,
    *,
    level: LogLevel = LogLevel.DEBUG,
    inputs: Digest = EMPTY_DIGEST,
    wheels: Digest = EMPTY_DIGEST,
    caches: Mapping[str, str] = FrozenDict(),
    variables: Mapping[str, str] = FrozenDict(),
    output_files: Iterable[str] = (),
    output_directories: Iterable[str] = (),
    timeout_seconds: Optional[int] = None,
    scope: ProcessCacheScope = ProcessCacheScope.SUCCESSFUL,
) -> Process:
    """A process that sees its inputs, `variables` beside `VARIABLES`, and the named caches."""
    return Process(
        argv,
        description=description,
        level=level,
        input_digest=inputs,
        immutable_input_digests={WHEELS: wheels} if wheels != EMPTY_DIGEST else {},
        append_only_caches=caches,
        env={**VARIABLES, **variables},
        output_files=output_files,
        output_directories=output_directories,
        timeout_seconds=timeout_seconds,
        remote_cache_speculation_delay_millis=LOOKUP_FIRST,
        cache_scope=scope,
    )


def program_of_a_user(argv: Iterable[str], inputs: Digest, wheels: Digest) -> InteractiveProcess:
    """A program of the library in the user's folder and environment, outside of any step."""
    return InteractiveProcess(
        argv=argv,
        input_digest=inputs,
        immutable_input_digests={WHEELS: wheels},
        append_only_caches=PROGRAM_CACHES,
        run_in_workspace=True,
    )


def without_caches(process: Process) -> Process:
    """The same process, to run once in this session: no cache is asked, and none is told."""
    return dataclasses.replace(process, cache_scope=ProcessCacheScope.PER_SESSION)


def process_key(process: Process) -> str:
    """Names all that the process may depend on, on any host."""
    parts = [
        *process.argv,
        *(f"{name}={value}" for name, value in sorted(process.env.items())),
        process.input_digest.fingerprint,
        *(d.fingerprint for _, d in sorted(process.immutable_input_digests.items())),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
