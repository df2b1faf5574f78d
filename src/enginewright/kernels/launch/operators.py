"""Launches of the kernels of `csrc/`: which kernel, and a shape that suits the sizes.

Tensors are given as addresses, sizes and strides in elements, so that nothing here needs a
framework or a device. The kernels are right for any shape of the kind that their sources state;
the rules that choose a shape here follow what `benchmarks/kernels.py` found fast on an H200.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from enginewright.kernels.launch.launch import MAX_BLOCK, MAX_GRID, Launch

_PACKET = 8  # 16-bit elements of a 16-byte access
_SUFFIXES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}
_BLOCK = 256
_ROTARY_BLOCK = 64
_POOL_BLOCK = 192
_RUN = 8  # tokens that a thread of the pooling kernels takes together
_MULTIPROCESSORS = 132
SAMPLE_THREADS = 1024
"""Of a block that samples a row; another number draws other tokens."""


def _blocks(count: int) -> int:
    return max(1, min(count, MAX_GRID[0]))


def _ceil_divide(a: int, b: int) -> int:
    return -(-a // b)


def row_block(columns: int, packets_a_thread: int) -> tuple[int, int]:
    """Threads of a row, and rows of a block, for kernels with a `BlockRowGroup`."""
    packets = max(1, _ceil_divide(columns, _PACKET))
    threads = _ceil_divide(packets, packets_a_thread)
    if threads <= 32:
        lanes = 1 << (threads - 1).bit_length()
        return lanes, _BLOCK // 2 // lanes
    warps = min(32, _ceil_divide(threads, 32))
    return 32 * warps, max(1, 4 // warps)


def rms_norm(
    dtype: str,
    x: int,
    weight: int,
    y: int,
    rows: int,
    columns: int,
    *,
    x_stride: int,
    y_stride: int,
    epsilon: float,
) -> Launch:
    """`y = x / sqrt(mean(x^2) + epsilon) * weight` over rows of `columns` elements."""
    threads, together = row_block(columns, packets_a_thread=4)
    return Launch(
        f"rms_norm_{_SUFFIXES[dtype]}",
        (_blocks(_ceil_divide(rows, together)), 1, 1),
        (threads, together, 1),
        (x, weight, y, rows, columns, x_stride, y_stride, epsilon),
    )


def add_rms_norm(
    dtype: str,
    x: int,
    residual: int,
    weight: int,
    total: int,
    y: int,
    rows: int,
    columns: int,
    *,
    strides: tuple[int, int, int, int],
    epsilon: float,
) -> Launch:
    """`total = x + residual`, `y = rms_norm(total)`; row strides of x, residual, total and y."""
    threads, together = row_block(columns, packets_a_thread=2)
    return Launch(
        f"add_rms_norm_{_SUFFIXES[dtype]}",
        (_blocks(_ceil_divide(rows, together)), 1, 1),
        (threads, together, 1),
        (x, residual, weight, total, y, rows, columns, *strides, epsilon),
    )


def swiglu(
    dtype: str,
    gate: int,
    up: int,
    y: int,
    rows: int,
    columns: int,
    *,
    strides: tuple[int, int, int],
) -> Launch:
    """`y = silu(gate) * up`; row strides of gate, up and y."""
    blocks = rows * _ceil_divide(columns, _PACKET * 2 * _BLOCK)
    return Launch(
        f"swiglu_{_SUFFIXES[dtype]}",
        (_blocks(blocks), 1, 1),
        (_BLOCK, 1, 1),
        (gate, up, y, rows, columns, *strides),
    )


def rotary_block(heads: int, dimension: int, rotary: int, in_place: bool) -> tuple[int, int, int]:
    """Threads for the columns of a head, for heads, and for tokens.

    A thread takes two packets of four heads at once. Small blocks: each waits for its positions and
    then for its angles, and more of them are somewhere in between at any time.
    """
    packets = [_ceil_divide(rotary, _PACKET)]
    if not in_place:
        packets.append(_ceil_divide(dimension - rotary, _PACKET))
    units = sum(_ceil_divide(count, 2) for count in packets)
    rounds = _ceil_divide(units, 32)
    columns = _ceil_divide(units, rounds)
    at_once = max(1, _ROTARY_BLOCK // columns)
    together = min(_ceil_divide(heads, 4), at_once)
    return columns, together, min(at_once // together, MAX_BLOCK[2])


def rotary(
    dtype: str,
    x: int,
    y: int,
    cosine: int,
    sine: int,
    positions: int,
    shape: tuple[int, int, int, int],
    *,
    rotary_dimension: int,
    interleaved: bool,
    x_strides: tuple[int, int, int],
    y_strides: tuple[int, int, int],
) -> Launch:
    """Rotary embedding of `x` [batch, sequence, heads, dimension], with strides of the first three.

    `positions` is 0 where the position is the index in the sequence.
    """
    batch, sequence, heads, dimension = shape
    in_place = x == y and x_strides == y_strides
    block = rotary_block(heads, dimension, rotary_dimension, in_place)
    layout = "interleaved" if interleaved else "half"
    return Launch(
        f"rotary_{layout}_{_SUFFIXES[dtype]}",
        (_blocks(_ceil_divide(batch * sequence, block[2])), 1, 1),
        block,
        (x, y, cosine, sine, positions, *shape, rotary_dimension, *x_strides, *y_strides),
    )


def pool_splits(batch: int, sequence: int) -> int:
    """Into how many parts the tokens of an item are cut, so that a small batch fills a device."""
    # Enough blocks that the last ones, which leave multiprocessors idle, hardly count. With nearly
    # as many items as that, short ones are faster in one launch without parts than in two; a long
    # item keeps its block busy for long, and the last blocks count more.
    if batch >= 12 * _MULTIPROCESSORS:
        return 1 if sequence <= 256 else 2
    wanted = _ceil_divide(16 * _MULTIPROCESSORS, batch)
    return max(1, min(wanted, _ceil_divide(sequence, 64), MAX_GRID[1]))


def pool_block(columns: int, tokens: int, parts: int) -> tuple[int, int, int]:
    """Whole warps: threads for the columns, and for the tokens of each of `parts` parts of items.

    Where the parts fill a device, small blocks: more of them are at their sums, and fewer wait for
    the threads that add up their last ones.
    """
    packets = _ceil_divide(columns, _PACKET)
    if packets <= 8:
        across = 1 << (packets - 1).bit_length()
    else:
        whole = 8 if packets <= 64 else 32
        across = min(_POOL_BLOCK, _ceil_divide(packets, whole) * whole)
    step = 32 // math.gcd(across, 32)  # rows that fill whole warps
    threads = _POOL_BLOCK // 2 if parts >= 8 * _MULTIPROCESSORS else _POOL_BLOCK
    most = max(1, threads // across // step)
    return across, step * min(most, _ceil_divide(_ceil_divide(tokens, _RUN), step)), 1


def finish_threads(batch: int, columns: int) -> int:
    """Whole warps of an item: a column a thread where all items are then on the device at once."""
    fair = _MULTIPROCESSORS * 2048 // batch // 32 * 32
    return min(MAX_BLOCK[0], max(128, fair), _ceil_divide(columns, 32) * 32)


def mean_pool(
    dtype: str,
    x: int,
    mask: int,
    partial: int,
    y: int,
    shape: tuple[int, int, int],
    *,
    splits: int,
    x_strides: tuple[int, int],
    y_stride: int,
    normalize: bool,
) -> Sequence[Launch]:
    """Masked mean of `x` [batch, sequence, columns] and L2 normalisation: launches in order.

    `y` is float32 [batch, columns]. One split takes one launch and no `partial`; several take two,
    and `partial` is float32 [batch, splits, columns].
    """
    batch, sequence, columns = shape
    block = pool_block(columns, _ceil_divide(sequence, splits), batch * splits)
    if splits == 1:
        one = Launch(
            f"mean_pool_{_SUFFIXES[dtype]}",
            (_blocks(batch), 1, 1),
            block,
            (x, mask, y, *shape, *x_strides, y_stride, int(normalize)),
        )
        return (one,)
    first = Launch(
        f"masked_sum_{_SUFFIXES[dtype]}",
        (_blocks(batch), splits, 1),
        block,
        (x, mask, partial, *shape, *x_strides),
    )
    second = Launch(
        "finish_mean_pool",
        (_blocks(batch), 1, 1),
        (finish_threads(batch, columns), 1, 1),
        (partial, mask, y, batch, splits, sequence, columns, y_stride, int(normalize)),
    )
    return (first, second)


def sample(
    dtype: str,
    logits: int,
    tokens: int,
    rows: int,
    columns: int,
    *,
    stride: int,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int,
    step: int,
) -> Launch:
    """One token of each row of `logits`; see `csrc/sampling/sample.cuh` for the meaning.

    A block reads its row twice and looks at the few candidates that are left. Where they are more
    than 2048 it reads the row again for every bit of the two bounds, mostly from the cache.
    """
    return Launch(
        f"sample_{_SUFFIXES[dtype]}",
        (_blocks(rows), 1, 1),
        (SAMPLE_THREADS, 1, 1),
        (logits, tokens, rows, columns, stride, temperature, top_k, top_p, seed, step),
    )
