"""Error texts as people posted them, shortened to the line that matters."""

import tracemalloc

import pytest

from enginewright.doctor.finding import Severity
from enginewright.doctor.fixes import command
from enginewright.doctor.messages import MAX_LINE, explain, messages, read_log
from enginewright.errors import InputError
from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.probe import probe


def the_finding(line: str):
    (finding,) = explain([line])
    return finding


def test_row_01_library_versions_that_differ_in_the_fourth_field():
    finding = the_finding(
        "[E] 6: The engine plan file is not compatible with this version of TensorRT, "
        "expecting library version 8.6.1.2 got 8.6.1.6, please rebuild."
    )
    assert finding.seen == "the runtime is TensorRT 8.6.1.2, the plan was built with 8.6.1.6"


def test_row_01_serialization_versions():
    finding = the_finding(
        "Version tag does not match. Note: Current Version: 239, Serialized Engine Version: 236"
    )
    assert finding.code == "log.tensorrt-version"
    assert "version 239, the plan has 236" in finding.seen


def test_row_02_expecting_is_the_gpu_and_got_is_the_plan():
    finding = the_finding(
        "The engine plan file is generated on an incompatible device, expecting compute 8.6 got "
        "compute 7.5, please rebuild."
    )
    assert finding.seen == "this GPU has compute capability 8.6, the plan was built for 7.5"
    assert finding.severity == Severity.ERROR


def test_row_02_another_model_is_a_warning():
    finding = the_finding(
        "[W] Using an engine plan file across different models of devices is not recommended and "
        "is likely to affect performance or even cause errors."
    )
    assert finding.severity == Severity.WARNING


def test_row_02_the_text_of_tensorrt_for_rtx_on_an_h200():
    line = "The engine cannot run on this GPU, which has compute capability 9.0"
    assert "9.0" in the_finding(line).seen


@pytest.mark.parametrize(
    ("row", "line", "code"),
    [
        (
            3,
            "Failed to initialize NVML: Driver/library version mismatch",
            "driver-library-mismatch",
        ),
        (
            4,
            "cudaGetDevice() failed: CUDA driver version is insufficient for CUDA runtime version",
            "driver-too-old",
        ),
        (
            4,
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            "driver-too-old",
        ),
        (6, "ValueError: No available memory for the cache blocks.", "no-cache-blocks"),
        (
            7,
            "ImportError: libcudart.so.13: cannot open shared object file: No such file",
            "cuda-library-missing",
        ),
        (
            8,
            "[W:onnxruntime:, onnxruntime_pybind_state.cc:870] Failed to create "
            "CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*",
            "provider-fallback",
        ),
        (
            8,
            "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider "
            "names.",
            "provider-fallback",
        ),
        (
            9,
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "no-kernel-image",
        ),
        (
            9,
            "RTX 5090 with CUDA capability sm_120 is not compatible with the current "
            "PyTorch installation.",
            "no-kernel-image",
        ),
        (
            12,
            "[E] 1: IPluginRegistry::getCreator: Error Code 4: Cannot find plugin: could not find "
            "plugin EfficientIdxNMS_TRT",
            "plugin-missing",
        ),
        (
            14,
            "SafetensorError: Error while deserializing header: HeaderTooLarge",
            "weights-are-pointer",
        ),
        (
            15,
            "host_config.h:132:2: error: -- unsupported GNU version! gcc versions later than "
            "12 are not supported!",
            "host-compiler",
        ),
        (16, "nvcc fatal   : Unsupported gpu architecture 'compute_120a'", "toolkit-architecture"),
        (
            17,
            "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-M2 (size 9637888)",
            "nccl-shared-memory",
        ),
        (
            18,
            "Error 804: forward compatibility was attempted on non supported HW",
            "cuda-804",
        ),
        (
            18,
            "Error 803: system has unsupported display driver / cuda driver combination",
            "cuda-803",
        ),
        (18, "Error 802: system not yet initialized", "cuda-802"),
        (
            19,
            "Total number of attention heads (28) must be divisible by tensor parallel size (8).",
            "tensor-parallel",
        ),
        (
            23,
            "Unsupported model IR version: 10, max supported IR version: 9",
            "onnx-ir-version",
        ),
        (
            24,
            "Unrecognized model in /models/x. Should have a `model_type` key in its config.json",
            "config-model-type",
        ),
        (
            25,
            "User-specified max_model_len (131072) is greater than the derived max_model_len "
            "(max_position_embeddings=8192 or model_max_length=None in model's config.json).",
            "length-above-config",
        ),
        (
            30,
            "[W] Cannot read the timing cache, a fresh timing cache will be created",
            "fresh-timing-cache",
        ),
        (
            40,
            "ptxas x.ptx, line 9; fatal   : Unsupported .version 8.3; current version is '7.8'",
            "ptx-version",
        ),
        (42, "Failed to initialize NVML: Unknown Error", "nvml-unknown-error"),
        (
            45,
            "OSError: libcuda.so: cannot open shared object file: No such file or directory",
            "libcuda-missing",
        ),
        (
            52,
            "[json.exception.out_of_range.403] key 'builder_config' not found",
            "tensorrt-llm-config",
        ),
    ],
)
def test_captured_texts_are_recognised(row, line, code):
    finding = the_finding(line)
    assert finding.code == f"log.{code}"
    assert finding.why
    assert finding.fix
    assert any(row in message.rows for message in messages() if message.code == finding.code)


def test_row_05_the_length_that_fits_is_in_the_fix():
    finding = the_finding(
        "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens "
        "that can be stored in KV cache (7344). Try increasing `gpu_memory_utilization`"
    )
    assert finding.seen == "32768 tokens were asked for, 7344 fit in the KV cache"
    assert "--max-model-len 7344" in finding.fix


def test_row_05_the_newer_wording():
    finding = the_finding(
        "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (3.18 GiB)."
    )
    assert finding.seen == "262144 tokens need 24.0 GiB of KV cache, 3.18 GiB are left"


def test_row_08_a_provider_that_fell_back_is_an_error_though_the_session_runs():
    finding = the_finding(
        "[W:onnxruntime:Default] Failed to create CUDAExecutionProvider. Require cuDNN 9.*"
    )
    assert finding.severity == Severity.ERROR
    assert "session.get_providers()" in finding.fix


def test_row_30_a_replaced_timing_cache_is_a_finding():
    finding = the_finding("[W] Timing cache of another device: using a fresh timing cache")
    assert finding.code == "log.fresh-timing-cache"
    assert finding.severity == Severity.WARNING
    assert "need not choose the same kernels" in finding.why


def test_row_18_each_code_has_its_own_diagnosis():
    findings = explain(["Error 802: x", "Error 803: x", "Error 804: x"])
    assert len({finding.why for finding in findings}) == 3


def test_row_42_is_not_row_3():
    unknown = the_finding("Failed to initialize NVML: Unknown Error")
    mismatch = the_finding("Failed to initialize NVML: Driver/library version mismatch")
    assert unknown.link != mismatch.link
    assert "recreate the container" in unknown.fix
    assert "reboot" in mismatch.fix


def test_a_text_that_repeats_counts_once_and_order_is_kept():
    log = [
        "Error 804: x",
        "ok",
        "Error 804: x",
        "no kernel image is available for execution on the device",
    ]
    assert [f.code for f in explain(log)] == ["log.cuda-804", "log.no-kernel-image"]


def test_with_a_host_the_fix_has_its_command():
    arch = probe(CapturedSource(Capture(files={"/etc/os-release": b"ID=arch\n"})))
    (finding,) = explain(["Error 804: x"], arch)
    assert command("upgrade_driver", arch) in finding.fix
    assert "pacman" in finding.fix


def test_an_innocent_log_has_no_findings():
    assert explain(["INFO: loaded 3 shards", "done", ""]) == []


def test_a_line_of_200_mb_costs_neither_its_memory_nor_minutes(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as stream:
        stream.write(b"first: Error 804: x")
        block = b"x" * (1 << 20)
        for _ in range(200):
            stream.write(block)
        stream.write(b"\nNo available memory for the cache blocks\n")
    tracemalloc.start()
    found = [finding.code for finding in explain(read_log(log))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ["log.cuda-804", "log.no-cache-blocks"]
    assert peak < 16 << 20


def test_lines_are_cut_and_bad_bytes_replaced(tmp_path):
    (tmp_path / "log").write_bytes(b"\xff\xfe Error 804\r\n" + b"y" * (8 * MAX_LINE) + b"\nlast")
    lines = list(read_log(tmp_path / "log"))
    assert [len(line) <= 4 * MAX_LINE for line in lines] == [True] * len(lines)
    assert lines[-1] == "last"


def test_a_missing_log_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot read the log"):
        explain(read_log(tmp_path / "gone"))


def test_every_message_can_be_filled_from_its_own_pattern():
    for message in messages():
        names = {*message.pattern.groupindex, *message.derived}
        for template in (message.seen, message.why, message.fix):
            assert template.format(**dict.fromkeys(names, "1"))


def test_every_message_says_where_its_text_was_seen():
    for message in messages():
        said = message.source
        assert said.startswith("https://") or "run by this project" in said or "man 3" in said


def test_at_least_40_fatal_texts_are_known():
    fatal = {message.code for message in messages() if message.severity == Severity.ERROR}
    assert len(fatal) >= 40
