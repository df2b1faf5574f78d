"""Results of steps that came out of a cache, and so may be other ones than the steps made."""

from __future__ import annotations

from typing import Iterable

from pants.engine.internals.session import RunId
from pants.engine.process import ProcessResultMetadata


def was_cached(metadata: ProcessResultMetadata) -> bool:
    """Whether the result came out of a cache when this daemon first had it."""
    first = metadata.source(RunId(metadata.source_run_id))
    return first != ProcessResultMetadata.Source.RAN


def came_from_cache(steps: Iterable[ProcessResultMetadata]) -> bool:
    """Whether any of the results was not made by this daemon."""
    return any(map(was_cached, steps))


def describe_suspicion(address: str, failure: str) -> str:
    """What to tell the user before steps run again whose cached results a check refuses."""
    return (
        f"{address}: what a cache gave does not pass a check; the steps that made it run once "
        f"more, past all caches.\n{failure}"
    )
