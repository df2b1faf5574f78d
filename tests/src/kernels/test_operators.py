import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginewright.kernels import operators
from enginewright.kernels.launch import MAX_GRID

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


@given(
    heads=st.integers(1, 256),
    tokens=sizes,
    pairs=st.integers(1, 512),
    interleaved=st.booleans(),
)
def test_rotary_covers_every_token(heads, tokens, pairs, interleaved):
    launch = operators.rotary(
        "float16", 0, 0, 0, 0, 0, (1, tokens, heads, 2 * pairs), rotary_dimension=2 * pairs,
        interleaved=interleaved, x_strides=(0, 0, 0), y_strides=(0, 0, 0),
    )  # fmt: skip
    assert launch.threads <= 1024
    assert launch.grid[0] * launch.block[2] >= tokens
    assert launch.kernel == ("rotary_interleaved_f16" if interleaved else "rotary_half_f16")


@given(batch=sizes, sequence=st.integers(1, 100_000), columns=columns)
def test_pooling_stays_within_the_shared_memory_of_its_kernel(batch, sequence, columns):
    splits = operators.pool_splits(batch, sequence)
    first, second = operators.mean_pool(
        "float16", 0, 0, 0, 0, (batch, sequence, columns), splits=splits, x_strides=(0, 0),
        y_stride=columns, normalize=True,
    )  # fmt: skip
    assert 1 <= splits <= min(sequence, MAX_GRID[1])
    assert first.grid[1] == splits
    assert first.threads <= 1024
    assert_row_group(second.block)


def test_sampling_has_one_block_shape():
    launch = operators.sample(
        "float32", 0, 0, 7, 100, stride=100, temperature=1.0, top_k=0, top_p=1.0, seed=2**63, step=1
    )
    assert launch.block == (operators.SAMPLE_THREADS, 1, 1)
    assert launch.kernel == "sample_f32"
    assert launch.arguments[-2:] == (2**63, 1)
