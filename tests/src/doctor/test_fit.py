"""One engine on one host."""

from captured_host import capture, codes, gpu, host, probed
from engine_document import onnx_document, plan_document

from enginewright.doctor.engine_facts import engine_facts
from enginewright.doctor.finding import Severity
from enginewright.doctor.report import text
from enginewright.doctor.walk import examine


def engine(product="tensorrt-rtx", version="1.7.1.116", targets=("8.6", "8.9"), size=1, **own):
    """A plan of `size` bytes whose tensors take none."""
    tensors = own.pop("tensors", [])
    document = plan_document(
        {"compute_capabilities": list(targets), "profiles": [], **own},
        product={"name": product, "version": version},
        files={"engine.plan": {"sha256": "0" * 64, "size": size}},
        tensors=tensors,
    )
    facts = engine_facts(document, "engine.json")
    assert facts.problems == ()
    return facts


def test_an_h200_is_refused_for_tensorrt_for_rtx_before_anything_loads():
    diagnosis = examine(host(), engine(targets=("8.6", "9.0")))
    finding = diagnosis.findings[0]
    assert finding.code == "engine.product-cannot-run"
    assert "NVIDIA H200, has compute capability 9.0" in finding.seen
    assert "product row `tensorrt-rtx 1.7.1.116`" in finding.seen
    assert diagnosis.exit_code == 1


def ada(**changes):
    return host(gpus=(gpu("NVIDIA L4", (8, 9), 23034 << 20),), **changes)


def test_row_02_a_capability_that_the_engine_was_not_built_for():
    diagnosis = examine(ada(), engine(targets=("8.6", "12.0")))
    assert diagnosis.findings[0].code == "engine.compute-capability"
    assert "has compute capability 8.9; the engine was built for 8.6, 12.0" in (
        diagnosis.findings[0].seen
    )


def test_row_02_another_model_of_the_same_capability_is_a_warning():
    facts = engine("tensorrt", "10.1.0.27", ("8.9",), device={"name": "NVIDIA L40S"})
    found = [item for item in examine(ada(), facts).findings if item.code == "engine.other-device"]
    assert [item.severity for item in found] == [Severity.WARNING]


def with_tensorrt(version: str):
    made = capture(gpus=(gpu("NVIDIA L4", (8, 9), 23034 << 20),))
    made.python_paths = ("/p",)
    made.directories["/p"] = (f"tensorrt_rtx_cu13_libs-{version}.dist-info",)
    return probed(made)


def test_row_01_only_the_fourth_version_field_differs():
    diagnosis = examine(with_tensorrt("1.7.1.112"), engine())
    assert codes(diagnosis) == ["engine.product-version"]
    assert "is for tensorrt-rtx 1.7.1.116, here is 1.7.1.112" in diagnosis.findings[0].seen


def test_row_01_all_four_fields_equal():
    assert codes(examine(with_tensorrt("1.7.1.116"), engine())) == []


def test_row_04_an_engine_that_needs_a_newer_driver():
    diagnosis = examine(ada(module="550.54.14", library="550.54.14"), engine())
    assert "engine.driver-too-old" in codes(diagnosis)


def test_a_driver_older_than_the_engines_minimum():
    diagnosis = examine(ada(), engine(minimum_driver="999.1"))
    found = [one for one in diagnosis.findings if one.code == "engine.driver-too-old"]
    assert ["is older than the engine's minimum, 999.1" in one.seen for one in found] == [True]


def test_memory_of_a_profile_above_the_cards():
    facts = engine(
        size=20 << 30,
        tensors=[
            {"name": "x", "mode": "input", "dtype": "float32", "shape": ["batch", 1 << 20]},
        ],
        profiles=[
            {
                "axes": {"batch": list(sizes)},
                "shapes": {"x": [[size, 1 << 20] for size in sizes]},
            }
            for sizes in ((1, 1, 8), (1, 512, 1024))
        ],
    )
    found = [item for item in examine(ada(), facts).findings if item.code == "engine.memory"]
    assert len(found) == 1
    assert "profile 1 needs at least 24576 MiB" in found[0].seen
    assert "GPU 0, NVIDIA L4 has 23034 MiB" in found[0].seen


def test_one_able_card_is_enough():
    nodes = ("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl")
    both = host(gpus=(gpu(), gpu("NVIDIA L4", (8, 9), 23034 << 20)), nodes=nodes)
    diagnosis = examine(both, engine())
    severities = {item.code: item.severity for item in diagnosis.findings}
    assert severities["engine.product-cannot-run"] == Severity.NOTE
    assert diagnosis.broken is None


def test_an_engine_on_a_host_without_a_gpu_is_an_error():
    bare = host(module=None, library=None, nodes=(), gpus=(), error={"error": "not found"})
    diagnosis = examine(bare, engine())
    assert codes(diagnosis) == ["hardware.no-gpu"]
    assert diagnosis.exit_code == 1


def rtx(**fields):
    """An engine for TensorRT for RTX that needs 8 GiB on a card of 8.9."""
    return engine(targets=("8.9", "12.1"), size=8 << 30, **fields)


def test_unknown_memory_is_a_skipped_check_and_no_yes():
    card = gpu("NVIDIA L4", (8, 9), {"unknown": "Not Supported"}, memory_free=None)
    diagnosis = examine(host(gpus=(card,)), rtx())
    assert [one.check for one in diagnosis.skipped] == ["memory of GPU 0, NVIDIA L4"]
    assert diagnosis.skipped[0].reason == "its memory is unknown: Not Supported"
    assert diagnosis.exit_code == 1
    assert "Nothing to change" not in text(diagnosis)


def test_zero_memory_is_no_size():
    card = gpu("NVIDIA L4", (8, 9), 0)
    diagnosis = examine(host(gpus=(card,)), rtx())
    assert "hardware.implausible" in codes(diagnosis)
    assert diagnosis.skipped[0].reason == (
        "its memory is unknown: NVML says 0 bytes, which is no size"
    )


def test_an_unknown_capability_is_a_skipped_check_and_no_yes():
    card = gpu("NVIDIA L4", (8, 9), 24 << 30, compute_capability={"unknown": "Unknown Error"})
    diagnosis = examine(host(gpus=(card,)), rtx())
    assert "compute capability is unknown: Unknown Error" in text(diagnosis)
    assert diagnosis.exit_code == 1


def test_a_mig_instance_decides_what_fits():
    sizes = [{"uuid": f"MIG-{n}", "memory_total": n << 30, "memory_free": n << 30} for n in (5, 6)]
    card = gpu("NVIDIA L4", (8, 9), 24 << 30, mig=True, mig_instances=sizes)
    found = examine(host(gpus=(card,)), rtx()).findings
    assert [one.code for one in found if one.severity == Severity.ERROR] == ["engine.memory"] * 2
    assert "MIG instance 0 of GPU 0, NVIDIA L4 has 5120 MiB" in found[0].seen


def test_one_instance_that_is_large_enough_will_do():
    sizes = [{"uuid": f"MIG-{n}", "memory_total": n << 30, "memory_free": n << 30} for n in (5, 9)]
    card = gpu("NVIDIA L4", (8, 9), 24 << 30, mig=True, mig_instances=sizes)
    diagnosis = examine(host(gpus=(card,)), rtx())
    assert [one.severity for one in diagnosis.findings if one.code == "engine.memory"] == [
        Severity.NOTE
    ]


def test_a_hidden_gpu_does_not_run_the_engine():
    made = capture(
        gpus=(gpu("NVIDIA L4", (8, 9), 24 << 30), gpu("NVIDIA H200")),
        nodes=("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"),
    )
    made.variables.update({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    diagnosis = examine(probed(made), rtx())
    assert "engine.product-cannot-run" in codes(diagnosis)
    assert diagnosis.exit_code == 1


def test_on_gb10_the_systems_memory_decides():
    unknown = {"unknown": "Not Supported"}
    spark = capture(gpus=(gpu("NVIDIA GB10", (12, 1), unknown, memory_free=unknown),))
    assert "engine.memory" not in codes(examine(probed(spark), rtx()))
    spark.files["/proc/meminfo"] = b"MemTotal: 131072000 kB\nMemAvailable: 4194304 kB\n"
    (finding,) = [one for one in examine(probed(spark), rtx()).findings if "memory" in one.code]
    assert "GPU 0, NVIDIA GB10 has 4096 MiB free of 128000 MiB" in finding.seen


BARE = {"module": None, "library": None, "nodes": (), "gpus": (), "error": {"error": "not found"}}


def test_an_engine_that_needs_no_gpu_runs_on_a_host_without_one():
    facts = engine_facts(onnx_document(), "engine.json")
    diagnosis = examine(host(**BARE), facts)
    assert codes(diagnosis) == []
    assert diagnosis.exit_code == 0
    assert diagnosis.broken is None
    assert text(diagnosis).startswith("This engine runs without a GPU")
    assert "cannot run here" not in text(diagnosis)


def test_an_engine_that_needs_no_gpu_does_not_ask_for_its_driver():
    facts = engine_facts(onnx_document(), "engine.json")
    old = host(module="550.54.14", library="580.65.06")
    assert "driver.library-mismatch" in codes(examine(old))
    diagnosis = examine(old, facts)
    assert (codes(diagnosis), diagnosis.exit_code) == ([], 0)


def test_of_an_engine_that_cannot_be_read_nobody_says_what_it_needs():
    facts = engine_facts(onnx_document(format=1), "engine.json")
    diagnosis = examine(host(**BARE), facts)
    assert "hardware.no-gpu" not in codes(diagnosis)
