"""How a process waits for the remote cache."""

from __future__ import annotations

LOOKUP_FIRST = 600_000
"""Milliseconds that a process waits for the answer of the remote cache before it starts.

Not in the key. Pants' default is 0: it starts the process beside the lookup, and ends it when the
answer is a hit, so that a fresh host would begin to download torch only to throw it away. A miss
starts the process at once; no answer is a miss after `[GLOBAL].remote_cache_rpc_timeout_millis`.
"""
