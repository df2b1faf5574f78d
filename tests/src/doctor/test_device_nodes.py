"""What CUDA opens and NVML does not need: a container without it looks healthy to NVML."""

import pytest
from captured_host import NO_NVML, NODES, capture, codes, gpu, host, probed

from enginewright.doctor.finding import Link
from enginewright.doctor.walk import examine
from enginewright.host.sources import FileStatus


def test_row_d1_a_container_without_nvidia_uvm_in_which_nvml_answers():
    diagnosis = examine(host(nodes=("nvidia0", "nvidiactl"), container=True))
    assert codes(diagnosis) == ["container.no-device-nodes"]
    assert diagnosis.exit_code == 1
    (finding,) = diagnosis.findings
    assert finding.seen == "missing: /dev/nvidia-uvm"
    assert "NVML answers all the same" in finding.why
    assert "--device /dev/nvidia-uvm" in finding.fix
    assert "sudo nvidia-modprobe -c 0 -u" in finding.fix


@pytest.mark.parametrize(
    ("nodes", "missing"),
    [
        (("nvidia-uvm", "nvidia0"), "/dev/nvidiactl"),
        (("nvidia-uvm", "nvidiactl"), "1 of 1 nodes /dev/nvidiaN"),
        (("nvidia0",), "/dev/nvidiactl, /dev/nvidia-uvm"),
    ],
)
def test_row_d1_each_node_that_cuda_opens_counts(nodes, missing):
    diagnosis = examine(host(nodes=nodes, container=True))
    assert diagnosis.findings[0].seen == f"missing: {missing}"
    assert diagnosis.exit_code == 1


def test_row_d1_on_a_host_the_nodes_are_made():
    diagnosis = examine(host(nodes=("nvidia0", "nvidiactl")))
    assert codes(diagnosis) == ["driver.no-device-nodes"]
    assert diagnosis.broken == Link.DRIVER
    assert diagnosis.findings[0].fix == "sudo nvidia-modprobe -c 0 -u"


def test_the_node_of_the_granted_gpu_is_the_one_that_is_needed():
    second = gpu(minor=1)
    assert codes(examine(host(gpus=(second,), nodes=("nvidia1", "nvidia-uvm", "nvidiactl")))) == []
    (finding,) = examine(host(gpus=(second,), nodes=NODES, container=True)).findings
    assert finding.seen == "missing: /dev/nvidia1"


def test_a_folder_where_a_node_should_be():
    made = capture(container=True)
    made.statuses["/dev/nvidia-uvm"] = FileStatus(0o755, "directory", 0, 0)
    diagnosis = examine(probed(made))
    assert codes(diagnosis) == ["container.node-is-no-device"]
    assert diagnosis.findings[0].seen == "/dev/nvidia-uvm is a directory"


def test_a_container_that_asked_for_no_gpu():
    made = capture(nodes=(), gpus=(), error=NO_NVML, container=True)
    made.variables["NVIDIA_VISIBLE_DEVICES"] = "void"
    (finding,) = examine(probed(made)).findings
    assert finding.code == "container.no-device-nodes"
    assert "NVIDIA_VISIBLE_DEVICES is `void`, which asks for no GPU" in finding.seen


def test_a_list_of_nodes_that_cannot_be_read_is_skipped():
    made = capture()
    del made.directories["/dev"]
    made.missing["list /dev"] = "permission denied"
    diagnosis = examine(probed(made))
    assert [one.check for one in diagnosis.skipped] == ["way to the driver", "device permissions"]
    assert diagnosis.skipped[0].reason.endswith("/dev: permission denied")


def test_a_host_without_libcuda_cannot_run_cuda_though_nvml_answers():
    diagnosis = examine(host(library=None))
    assert codes(diagnosis) == ["cuda.no-libcuda"]
    assert diagnosis.broken == Link.CUDA
    assert "sudo ldconfig" in diagnosis.findings[0].fix


def test_a_container_without_libcuda_in_which_nvml_answers():
    (finding,) = examine(host(library=None, container=True)).findings
    assert finding.code == "container.driver-libraries"
    assert "NVML answers; CUDA cannot start" in finding.seen
    assert "compute,utility" in finding.fix


def test_nvml_and_the_module_of_two_versions():
    made = capture()
    made.nvml = {**made.nvml, "driver_version": "575.51.03"}
    (finding,) = examine(probed(made)).findings
    assert finding.code == "driver.library-mismatch"
    assert "kernel module 580.159.04, NVML 575.51.03" in finding.seen


def test_a_module_alone_says_nothing_about_agreement():
    made = capture(error={"error": "the Python package nvidia-ml-py is not installed"})
    made.directories["/usr/lib/x86_64-linux-gnu"] = ("libcuda.so.1",)
    made.statuses["/usr/lib/x86_64-linux-gnu/libcuda.so.1"] = FileStatus(0o644, "file", 9, 9)
    diagnosis = examine(probed(made))
    (skipped,) = [one for one in diagnosis.skipped if one.check == "driver versions"]
    assert "fewer than two parts say their version" in skipped.reason
