"""Fatal texts as they stand in the reports that `source` names, or as the program prints them."""

import pytest

from enginewright.doctor.log_numbers import derive, oldest_driver, release, share
from enginewright.doctor.messages import explain

D8 = [
    (
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update "
        "your driver to a newer version, or use an earlier cuda container: unknown",
        "driver-below-image",
        "upgrade the driver to 525.60.13 or newer",
    ),
    (
        "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
        "cdi-devices",
        "nvidia-ctk cdi generate",
    ),
    (
        'docker: Error response from daemon: could not select device driver "" with capabilities: '
        "[[gpu]].",
        "no-container-toolkit",
        "install it on the machine that runs the container",
    ),
    (
        "ValueError: Free memory on device (31.44/47.38 GiB) on startup is less than desired GPU "
        "memory utilization (0.95, 45.01 GiB). Decrease GPU memory utilization or reduce GPU "
        "memory used by other processes.",
        "memory-in-use",
        "--gpu-memory-utilization to 0.66 or less",
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
        "Your Tesla T4 GPU has compute capability 7.5.",
        "bfloat16",
        "--dtype float16, or a GPU of 8.0 or newer",
    ),
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
        "that the latest NVIDIA driver is installed and running.",
        "smi-no-driver",
        "load the module",
    ),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 0 has a total "
        "capacity of 23.64 GiB of which 634.88 MiB is free. Process 4242 has 22.99 GiB memory in "
        "use.",
        "out-of-memory",
        "nvidia-smi --query-compute-apps",
    ),
    (
        "[E] 4: [network.cpp::validate::2965] Error Code 4: Internal Error (Network has dynamic or "
        "shape inputs, but no optimization profile has been defined.)",
        "no-profile",
        "add `profiles` with (min, opt, max)",
    ),
    (
        "[ONNXRuntimeError] : 1 : FAIL : Deserialize tensor lm_head.weight failed.GetFileLength "
        "for model.onnx.data failed:open file model.onnx.data fail, errcode = 2 - unknown error",
        "external-data",
        "into one folder",
    ),
    (
        "[ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed: ONNX Runtime only "
        "*guarantees* support for models stamped with official released onnx opset versions. Opset "
        "24 is under development and support for this is limited. Current official support for "
        "domain ai.onnx is till opset 23.",
        "opset-too-new",
        "export with opset 23 or lower",
    ),
]


@pytest.mark.parametrize(("line", "code", "fix"), D8)
def test_row_d8_fatal_texts_have_a_cause_and_a_fix(line, code, fix):
    finding = explain([line])[0]
    assert finding.code == f"log.{code}"
    assert fix in finding.fix


def test_row_d8_who_holds_the_memory_and_how_much():
    (finding,) = explain([D8[3][0]])
    assert "other processes hold 15.94 GiB" in finding.seen
    assert {one.seen for one in explain([D8[6][0]])} == {
        "Process 4242 holds 22.99 GiB of that GPU",
        "GPU 0 has 634.88 MiB free of 23.64 GiB, and 1.02 GiB were asked for",
    }


def test_row_d9_the_length_that_fits_is_passed_on():
    (finding,) = explain(
        [
            "ValueError: To serve at least one request with the model's max seq len (30000), (6.66 "
            "GiB KV cache is needed, which is larger than the available KV cache memory (5.44 "
            "GiB). Based on the available memory, the estimated maximum model length is 13528."
        ]
    )
    assert finding.fix.startswith("--max-model-len 13528 or less")


def test_row_d10_what_was_right_stays():
    lines = [
        "expecting compute 8.6 got compute 8.9",
        "Note: Current Version: 213, Serialized Engine Version: 232",
        "Unsupported model IR version: 11, max supported IR version: 10",
        "attention heads (28) must be divisible by tensor parallel size (8)",
    ]
    assert [one.code for one in explain(lines)] == [
        "log.compute-capability",
        "log.tensorrt-version",
        "log.onnx-ir-version",
        "log.tensor-parallel",
    ]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
         "no-nvidia-runtime"),
        ("docker: Error response from daemon: Unknown runtime specified nvidia.",
         "no-nvidia-runtime"),
        ("nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
         "toolkit-no-driver"),
        ("nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: "
         "cannot open shared object file: no such file or directory: unknown",
         "toolkit-no-driver"),
        ("ERROR: Process exited with code 137", "out-of-memory-kill"),
        ("NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus", "xid-79"),
        ("NVRM: Xid (PCI:0000:01:00): 119, pid=1, Timeout waiting for RPC from GSP!", "xid-119"),
        ("NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE (double bit error)", "xid-48"),
        ("NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU Fault", "xid-31"),
        ("runtime error in cudaGetDeviceCount(&deviceCount): no CUDA-capable device is detected",
         "no-cuda-device"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a "
         "total capacty of 6.00 GiB of which 0 bytes is free.", "out-of-memory"),
        ("CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 "
         "MiB already allocated; 3.03 GiB free; 1.24 GiB reserved in total by PyTorch)",
         "out-of-memory"),
        ("RuntimeError: CUDA error: out of memory", "out-of-memory"),
        ("RuntimeError: CUDA error: device-side assert triggered", "device-assert"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered",
         "illegal-memory-access"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
         "`cublasCreate(handle)`", "cublas-not-initialized"),
        ("ImportError: /lib64/libm.so.6: version `GLIBC_2.27' not found (required by "
         "/opt/TensorRT-7.0.0.11/lib/libnvinfer.so.7)", "glibc"),
        ("condition: profileMaxDims.d[i] >= dimensions.d[i]. Supplied binding dimension "
         "[10,3,128,64] for bindings[0] exceed min ~ max range at index 0, maximum dimension in "
         "profile is 1, minimum dimension in profile is 1, but supplied dimension is 10.",
         "outside-profile"),
        ("condition: satisfyProfile Runtime dimension does not satisfy any optimization profile.)",
         "outside-profile"),
        ("Error Code 1: Serialization (Serialization assertion magicTagRead == kMAGIC_TAG "
         "failed.Magic tag does not match)", "not-a-plan"),
        ("Error Code 1: Serialization (Serialization assertion plan->header.magicTag == "
         "rt::kPLAN_MAGIC_TAG failed.)", "not-a-plan"),
        ("[optimizer.cpp::computeCosts::2011] Error Code 10: Internal Error (Could not find any "
         "implementation for node ArgMax_260.)", "no-implementation"),
        ("createInferRuntime: Error Code 6: API Usage Error (CUDA initialization failure with "
         "error: 35 In checkCudaInstallation at /_src/runtime/dispatch/runtime.cpp:823)",
         "cuda-initialization"),
        ("[ONNXRuntimeError] : 1 : FAIL : Load model from final.onnx failed:Fatal error: Gemm is "
         "not a registered function/op", "unknown-operator"),
        ("Error in Node:ConvTranspose_0 : No Op registered for ConvTranspose with domain_version "
         "of 12", "unknown-operator"),
        ("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Relu(14) "
         "node with name ''", "no-kernel"),
        ("[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from bad.onnx failed:Protobuf "
         "parsing failed.", "not-protobuf"),
        ("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x for the "
         "following indices", "input-shape"),
        ("INVALID_ARGUMENT : Invalid rank for input: x Got: 1 Expected: 2 Please fix either the "
         "inputs/outputs or the model.", "input-shape"),
        ("INVALID_ARGUMENT : Unexpected input data type. Actual: (tensor(int64)) , expected: "
         "(tensor(float))", "input-type"),
        ("Status Message: indices element out of data bounds, idx=5 must be within the inclusive "
         "range [-2,1]", "token-out-of-range"),
        ("FAIL : External data path validation failed for initializer: w. Error: External data "
         'path does not exist: "/models/m.data"', "external-data"),
        ("ValueError: The quantization method fp8 is not supported for the current GPU. Minimum "
         "capability: 90. Current capability: 86", "quantization-capability"),
        ("RuntimeError: Engine core initialization failed. See root cause above. Failed core "
         "proc(s): {'EngineCore_0': 1}", "engine-core-failed"),
        ("UNAVAILABLE: Internal: unable to load plan file to auto complete config: "
         "/tmp/folder6QdWaa/1/model.plan", "triton-model"),
        ("error: creating server: Internal - failed to load all models", "triton-no-models"),
        ("transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 217 peer access is not "
         "supported between these two devices", "nccl-peer-access"),
        ("[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, "
         "OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for "
         "600060 milliseconds before timing out.", "nccl-timeout"),
        ("RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:784, unhandled cuda error, NCCL "
         "version 2.7.8", "nccl-cuda-error"),
        ("RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:911, unhandled system error",
         "nccl-system-error"),
        ("  ProcessExecutionFailure: Process 'Generate lockfile for python-default' failed with "
         "exit code 1.", "pants-process"),
        ("Exception: Error storing fingerprint 7004: MDB_MAP_FULL: Environment mapsize limit "
         "reached", "pants-store-full"),
        ("OSError: [Errno 28] No space left on device", "disk-full"),
    ],
)  # fmt: skip
def test_a_text_of_a_report_is_recognised(line, code):
    assert f"log.{code}" in [finding.code for finding in explain([line])]


def test_numbers_of_a_text_reach_its_explanation():
    (outside,) = explain(
        [
            "Supplied binding dimension [10,3] for bindings[0] exceed min ~ max range at index 0, "
            "maximum dimension in profile is 4, minimum dimension in profile is 1, but supplied "
            "dimension is 10."
        ]
    )
    assert outside.seen == "input 0 has 10 on axis 0, the profile goes from 1 to 4"


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [("31.44", "47.38", "0.66"), ("1", "3", "0.33"), ("2.99", "3", "0.99"), ("0", "0", "0.00")],
)
def test_a_share_is_rounded_down(part, whole, expected):
    assert share(part, whole) == expected


def test_the_oldest_driver_is_the_tables():
    assert oldest_driver("13.0") == "580.65.06"
    assert "the table of drivers has no row" in oldest_driver("99.0")
    assert release("12040") == "12.4"
    assert derive({"r": ("release", "n")}, {"n": "13000"}) == {"n": "13000", "r": "13.0"}
