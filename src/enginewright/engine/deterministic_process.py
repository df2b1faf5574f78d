"""A process in which the builder's memory layout is the same in every run.

TensorRT for RTX 1.7.1.116 numbers its symbolic dimensions in an order that follows the addresses
of heap blocks, so with the usual allocator and address space randomization a few bytes of a plan
with dynamic axes differ from process to process. Here the addresses depend on the build alone, as
far as that can be had without another allocator:

- no address space randomization (`ADDR_NO_RANDOMIZE`, kept across exec);
- the builder runs in a fresh thread: glibc gives that its own arena, where nothing is left of what
  the interpreter allocated before (which depends on the length of paths and of the environment);
- a thread keeps the small blocks that it frees to itself (`tcache_count`), so that the builder's
  workers do not return blocks of that arena in an order that depends on the scheduler;
- nothing of ours runs beside it.

The build proper gets a second fresh thread (`builder.py`): what parsing takes depends on the host.
And progress reports take no large block (`progress.py`). With both, the plan of a small decoder
with a KV cache was the same in 21 of 21 processes on one host: with and without a progress file,
with and without /sys, with a /sys that names 64 CPUs instead of 2, pinned to one CPU, with CPython
3.11.2 and 3.11.7. Before, these gave five different plans. `PYTHONMALLOC=malloc` still gives
another one. What else decides the addresses: glibc, the kernel's layout of the address space and
the shared libraries; equal bytes were seen on one host only.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

_ADDR_NO_RANDOMIZE = 0x0040000
"""personality(2)."""
_QUERY = 0xFFFFFFFF
_TUNABLES = "glibc.malloc.tcache_count=65535"
_STACK_BYTES = 64 << 20
"""Fixed, because the default follows the shell's limits."""


def enter() -> None:
    """Start this Python program again, in place, with a memory layout that does not vary.

    Returns at once where that has been done, and where the system does not allow it (a container
    may filter `personality`): `is_entered` tells which. Call it first thing in a program.
    """
    if is_entered():
        return
    libc = ctypes.CDLL(None)
    persona = libc.personality(ctypes.c_ulong(_QUERY))
    if persona == -1 or libc.personality(ctypes.c_ulong(persona | _ADDR_NO_RANDOMIZE)) == -1:
        return
    if not _is_randomization_off():
        return  # accepted and not done: starting again would never end
    environment = {**os.environ, "GLIBC_TUNABLES": _TUNABLES, "PYTHONHASHSEED": "0"}
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def is_entered() -> bool:
    """Whether this process has the memory layout that does not vary."""
    return os.environ.get("GLIBC_TUNABLES") == _TUNABLES and _is_randomization_off()


def _is_randomization_off() -> bool:
    persona = ctypes.CDLL(None).personality(ctypes.c_ulong(_QUERY))
    return persona != -1 and bool(persona & _ADDR_NO_RANDOMIZE)


def call_in_fresh_thread(function: Callable[[], Result]) -> Result:
    """Call `function` in a thread that starts with an empty heap; pass on what it raises."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    previous = threading.stack_size(_STACK_BYTES)
    try:
        thread = threading.Thread(target=call)
        thread.start()
    finally:
        threading.stack_size(previous)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
