import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enginewright.kernels.launch import operators

sizes = st.integers(1, 2**20)
columns = st.integers(1, 100_000)


def assert_row_group(block):
    """What `BlockRowGroup` takes: a power of two up to 32, or whole warps; 1024 threads in all."""
    x, y, z = block
    assert x in (1, 2, 4, 8, 16, 32) or x % 32 == 0
    assert (x * y) % 32 == 0
    assert z == 1
    assert x * y <= 1024


@given(rows=sizes, columns=columns)
def test_row_kernels_get_a_block_that_they_take(rows, columns):
    norm = operators.rms_norm(
        "float16", 0, 0, 0, rows, columns, x_stride=columns, y_stride=columns, epsilon=1e-6
    )
    add = operators.add_rms_norm(
        "bfloat16", 0, 0, 0, 0, 0, rows, columns, strides=(columns,) * 4, epsilon=1e-6
    )
    for launch in (norm, add):
        assert_row_group(launch.block)
        assert launch.grid[0] * launch.block[1] >= rows


@pytest.mark.parametrize(
    ("columns", "packets_a_thread", "block"),
    [
        (4096, 4, (128, 1)),
        (4096, 2, (256, 1)),
        (1024, 4, (32, 4)),
        (384, 4, (16, 8)),
        (128, 4, (4, 32)),
        (1, 4, (1, 128)),
        (100_000, 4, (1024, 1)),
    ],
)
def test_shapes_of_usual_rows(columns, packets_a_thread, block):
    assert operators.row_block(columns, packets_a_thread) == block


def test_names_and_arguments():
    launch = operators.rms_norm(
        "bfloat16", 16, 32, 48, 3, 64, x_stride=72, y_stride=64, epsilon=1e-5
    )
    assert launch.kernel == "rms_norm_bf16"
    assert launch.arguments == (16, 32, 48, 3, 64, 72, 64, 1e-5)


def assert_within_limits(launch):
    """Of CUDA, for every device: CUDA C++ Programming Guide, technical specifications."""
    assert all(
        1 <= n <= most for n, most in zip(launch.grid, (2**31 - 1, 65535, 65535), strict=True)
    )
    assert all(1 <= n <= most for n, most in zip(launch.block, (1024, 1024, 64), strict=True))
    assert launch.threads <= 1024


@given(
    heads=st.integers(1, 256),
    batch=st.integers(1, 2**20),
    sequence=st.integers(1, 2**20),
    pairs=st.integers(1, 1024),
    passed=st.integers(0, 1024),
    interleaved=st.booleans(),
    y=st.sampled_from([0, 4096]),
)
@example(heads=1, batch=1, sequence=1, pairs=1, passed=0, interleaved=False, y=4096)
def test_rotary_covers_every_token(heads, batch, sequence, pairs, passed, interleaved, y):
    launch = operators.rotary(
        "float16", 0, y, 0, 0, 0, (batch, sequence, heads, 2 * pairs + passed),
        rotary_dimension=2 * pairs, interleaved=interleaved, x_strides=(0, 0, 0),
        y_strides=(0, 0, 0),
    )  # fmt: skip
    assert_within_limits(launch)
    assert launch.threads <= 256  # what the kernels are compiled for
    assert launch.grid[0] * launch.block[2] >= min(batch * sequence, 2**31 - 1)
    assert launch.kernel == ("rotary_interleaved_f16" if interleaved else "rotary_half_f16")


@pytest.mark.parametrize(
    ("heads", "dimension", "rotary", "in_place", "block"),
    [
        (32, 128, 128, False, (8, 8, 1)),
        (8, 128, 128, False, (8, 2, 4)),
        (32, 128, 64, False, (8, 8, 1)),
        (32, 128, 64, True, (4, 8, 2)),
        (1, 2, 2, False, (1, 1, 64)),
        (4, 512, 512, True, (32, 1, 2)),
        (2, 1024, 1024, True, (32, 1, 2)),
    ],
)
def test_blocks_of_usual_heads(heads, dimension, rotary, in_place, block):
    assert operators.rotary_block(heads, dimension, rotary, in_place) == block


@given(
    batch=sizes,
    sequence=st.integers(1, 100_000),
    columns=columns,
    splits=st.none() | st.integers(1, 65535),
)
@example(batch=2048, sequence=512, columns=384, splits=None)
@example(batch=1, sequence=1, columns=1, splits=None)
def test_pooling_gets_blocks_that_its_kernels_take(batch, sequence, columns, splits):
    chosen = operators.pool_splits(batch, sequence)
    assert 1 <= chosen <= min(sequence, 65535)
    splits = splits or chosen
    launches = operators.mean_pool(
        "float16", 0, 0, 0, 0, (batch, sequence, columns), splits=splits, x_strides=(0, 0),
        y_stride=columns, normalize=True,
    )  # fmt: skip
    for launch in launches:
        assert_within_limits(launch)
        assert launch.threads % 32 == 0
    assert launches[0].threads <= 224  # the shared memory of the kernels
    assert launches[0].grid == (batch, splits, 1)
    names = [launch.kernel for launch in launches]
    assert names == (["mean_pool_f16"] if splits == 1 else ["masked_sum_f16", "finish_mean_pool"])


@pytest.mark.parametrize(
    ("batch", "sequence", "splits"),
    [(2048, 512, 2), (4096, 128, 1), (64, 8192, 33), (1, 5000, 79), (3, 7, 1)],
)
def test_splits_of_usual_batches(batch, sequence, splits):
    assert operators.pool_splits(batch, sequence) == splits


@pytest.mark.parametrize(
    ("columns", "tokens", "parts", "block"),
    [
        (384, 256, 4096, (48, 2, 1)),
        (768, 128, 4096, (96, 1, 1)),
        (1024, 249, 2112, (128, 1, 1)),
        (384, 64, 79, (48, 4, 1)),
        (384, 1, 1, (48, 2, 1)),
        (448, 512, 4096, (56, 4, 1)),
        (8, 512, 4096, (1, 64, 1)),
    ],
)
def test_blocks_of_usual_pools(columns, tokens, parts, block):
    assert operators.pool_block(columns, tokens, parts) == block


@pytest.mark.parametrize(
    ("batch", "columns", "threads"),
    [
        (1, 1, 32),
        (64, 1024, 1024),
        (64, 1000, 1024),
        (1, 4096, 1024),
        (512, 1024, 512),
        (2048, 384, 128),
        (10**6, 384, 128),
        (10**6, 40, 64),
    ],
)
def test_threads_that_finish_a_pool(batch, columns, threads):
    assert operators.finish_threads(batch, columns) == threads


@given(rows=st.integers(1, 2**40), columns=st.integers(1, 2**22))
def test_other_kernels_stay_within_the_limits(rows, columns):
    assert_within_limits(
        operators.swiglu("float16", 0, 0, 0, rows, columns, strides=(columns,) * 3)
    )
    assert_within_limits(
        operators.rms_norm(
            "float16", 0, 0, 0, rows, columns, x_stride=columns, y_stride=columns, epsilon=1e-6
        )
    )
    assert_within_limits(
        operators.add_rms_norm(
            "float16", 0, 0, 0, 0, 0, rows, columns, strides=(columns,) * 4, epsilon=1e-6
        )
    )
    assert_within_limits(
        operators.sample(
            "float16", 0, 0, rows, columns, stride=columns, temperature=1.0, top_k=0, top_p=1.0,
            seed=0, step=0,
        )
    )  # fmt: skip


def test_sampling_has_one_block_shape():
    launch = operators.sample(
        "float32", 0, 0, 7, 100, stride=100, temperature=1.0, top_k=0, top_p=1.0, seed=2**63, step=1
    )
    assert launch.block == (operators.SAMPLE_THREADS, 1, 1)
    assert launch.kernel == "sample_f32"
    assert launch.arguments[-2:] == (2**63, 1)
