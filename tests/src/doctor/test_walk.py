"""The chain, on hosts that each have one thing wrong."""

import pytest
from captured_host import capture, codes, gpu, host

from enginewright.doctor.finding import Finding, Link, Severity, diagnose
from enginewright.doctor.report import text
from enginewright.doctor.walk import examine, lost_inside
from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.probe import probe
from enginewright.host.sources import FileStatus


def test_a_sound_host_has_nothing_to_change():
    diagnosis = examine(host())
    assert (codes(diagnosis), diagnosis.exit_code) == ([], 0)
    assert text(diagnosis) == (
        "Nothing to change: hardware, driver, CUDA and container are in order. "
        f"{diagnosis.checks} checks, 0 skipped."
    )
    assert diagnosis.checks > 15


def test_a_host_without_a_gpu_says_so_in_one_line():
    diagnosis = examine(
        host(module=None, library=None, nodes=(), gpus=(), error={"error": "not found"})
    )
    assert diagnosis.exit_code == 0
    assert len(text(diagnosis).splitlines()) == 1
    assert text(diagnosis).startswith("No NVIDIA GPU here. What still works: ")


def test_a_gpu_without_a_driver():
    made = capture(module=None, library=None, nodes=(), gpus=(), error={"error": "not found"})
    made.directories["/sys/bus/pci/devices"] = ("0000:01:00.0",)
    made.files["/sys/bus/pci/devices/0000:01:00.0/vendor"] = b"0x10de\n"
    made.files["/sys/bus/pci/devices/0000:01:00.0/class"] = b"0x030000\n"
    diagnosis = examine(probe(CapturedSource(made)))
    assert codes(diagnosis) == ["driver.not-installed"]
    assert diagnosis.findings[0].fix == "sudo ubuntu-drivers install"


def test_row_03_old_module_with_new_libraries_stops_before_cuda():
    diagnosis = examine(
        host(
            module="520.56.06",
            library="525.85.12",
            gpus=None,
            error={"error": "Driver/library version mismatch", "code": 18},
        )
    )
    assert codes(diagnosis) == ["driver.library-mismatch"]
    (finding,) = diagnosis.findings
    assert finding.seen.startswith("kernel module 520.56.06, NVML unknown")
    assert finding.seen.endswith("user-space libraries 525.85.12")
    assert "sudo reboot" in finding.fix
    assert diagnosis.not_examined == (Link.CUDA, Link.CONTAINER, Link.APPLICATION)
    assert "Not examined, because driver comes first" in text(diagnosis)


def with_runtime(made: Capture, soname: str) -> Capture:
    folder = "/usr/lib/x86_64-linux-gnu"
    made.directories[folder] = (*made.directories[folder], soname)
    made.statuses[f"{folder}/{soname}"] = FileStatus(0o644, "file", 0, 0)
    return made


def test_row_04_driver_418_and_a_runtime_of_10_2():
    made = with_runtime(
        capture(module="418.87.00", library="418.87.00", gpus=(gpu("Tesla V100", (7, 0)),)),
        "libcudart.so.10.2",
    )
    (finding,) = examine(probe(CapturedSource(made))).findings
    assert finding.code == "cuda.driver-too-old"
    assert "older than 440.33, which CUDA 10.2 needs (driver_cuda row `10.2`)" in finding.seen
    assert "it runs CUDA up to 10.1" in finding.seen


def test_row_04_minor_version_compatibility_is_not_blamed():
    made = with_runtime(capture(module="525.60.13", library="525.60.13"), "libcudart.so.12")
    assert codes(examine(probe(CapturedSource(made)))) == []


@pytest.mark.parametrize(("other", "expected"), [("12", ["cuda.wheel-majors"]), ("13", [])])
def test_row_07_python_packages_of_two_cuda_majors(other, expected):
    made = capture()
    made.python_paths = ("/p",)
    made.directories["/p/nvidia"] = ("cu13", "cuda_runtime")
    made.directories["/p/nvidia/cu13/lib"] = ("libcudart.so.13",)
    made.directories["/p/nvidia/cuda_runtime/lib"] = (f"libcudart.so.{other}",)
    assert codes(examine(probe(CapturedSource(made)))) == expected


@pytest.mark.parametrize(
    ("os_release", "command"),
    [
        ("ID=debian\n", "apt-get install --only-upgrade nvidia-driver"),
        ("ID=rocky\n", "dnf upgrade"),
        ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", "ubuntu-drivers install"),
        ("ID=opensuse-leap\n", "zypper update"),
        ("ID=arch\n", "pacman -Syu"),
        ("ID=nixos\n", "with this distribution's package manager"),
    ],
)
def test_the_fix_is_a_command_of_this_distribution(os_release, command):
    made = capture(module="418.87.00", library="418.87.00", os_release=os_release)
    (finding,) = examine(probe(CapturedSource(with_runtime(made, "libcudart.so.10.2")))).findings
    assert command in finding.fix


@pytest.mark.parametrize(("tensor_parallel", "warned"), [(2, True), (1, False)])
def test_row_17_64_mib_of_shared_memory_matter_to_tensor_parallelism(tensor_parallel, warned):
    diagnosis = examine(host(shm=64 << 20, container=True), tensor_parallel=tensor_parallel)
    assert codes(diagnosis) == (["container.small-shared-memory"] if warned else [])
    if warned:
        assert "--ipc=host" in diagnosis.findings[0].fix
        assert diagnosis.findings[0].severity == Severity.WARNING


def test_row_17_several_gpus_are_warned_without_being_asked():
    nodes = ("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl")
    diagnosis = examine(host(shm=64 << 20, gpus=(gpu(), gpu()), nodes=nodes))
    assert codes(diagnosis) == ["container.small-shared-memory"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("NVIDIA GeForce RTX 3090", ["cuda.compat-on-consumer-gpu"]), ("NVIDIA H200", [])],
)
def test_row_18_a_compatibility_library_works_on_data_center_gpus_only(name, expected):
    made = host(
        module="525.60.13",
        library="550.54.14",
        folder="/usr/local/cuda-12.4/compat",
        gpus=(gpu(name),),
        container=True,
    )
    # Nothing lists that folder by default: the container's LD_LIBRARY_PATH does.
    source = capture(
        module="525.60.13",
        library="550.54.14",
        folder="/usr/local/cuda-12.4/compat",
        gpus=(gpu(name),),
        container=True,
    )
    source.variables["LD_LIBRARY_PATH"] = "/usr/local/cuda-12.4/compat"
    assert codes(examine(made)) == ["container.driver-libraries"]
    assert codes(examine(probe(CapturedSource(source)))) == expected


def test_row_41_devices_that_only_the_sandbox_lacks():
    outside, inside = host(), host(nodes=(), gpus=None, error={"error": "not found"})
    (finding,) = lost_inside(outside, inside)
    assert finding.seen == ("outside and not inside: /dev/nvidia-uvm, /dev/nvidia0, /dev/nvidiactl")
    assert "skipped" in finding.why
    assert lost_inside(outside, outside) == []


def test_row_41_a_container_without_device_nodes():
    diagnosis = examine(host(nodes=(), gpus=None, error={"error": "not found"}, container=True))
    assert codes(diagnosis) == ["container.no-device-nodes"]
    assert "--gpus all" in diagnosis.findings[0].fix


def test_a_container_with_devices_and_without_the_drivers_libraries():
    error = {"error": "NVML Shared Library Not Found", "code": 12}
    diagnosis = examine(host(gpus=None, error=error, library=None, container=True))
    assert codes(diagnosis) == ["container.driver-libraries"]
    assert "compute,utility" in diagnosis.findings[0].fix


def test_row_42_nvml_unknown_error_in_a_container_is_no_driver_fault():
    error = {"error": "Unknown Error", "code": 999}
    diagnosis = examine(host(gpus=None, error=error, container=True))
    assert codes(diagnosis) == ["container.device-lost"]
    assert diagnosis.findings[0].fix.startswith("recreate the container")
    assert diagnosis.broken == Link.CONTAINER


def test_row_45_a_linux_driver_installed_inside_wsl():
    kernel = "5.15.153.1-microsoft-standard-WSL2"
    diagnosis = examine(host(nodes=("dxg",), module=None, kernel=kernel))
    assert codes(diagnosis) == ["driver.wsl-second-libcuda"]
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.1" in diagnosis.findings[0].seen


def test_row_45_wsl_with_its_own_library_is_fine():
    kernel = "5.15.153.1-microsoft-standard-WSL2"
    diagnosis = examine(host(nodes=("dxg",), module=None, kernel=kernel, folder="/usr/lib/wsl/lib"))
    assert codes(diagnosis) == []


def test_row_37_a_home_on_nfs_is_no_place_for_the_local_store():
    made = capture()
    made.files["/proc/mounts"] = b"server:/export /home nfs4 rw 0 0\n"
    diagnosis = examine(probe(CapturedSource(made)))
    assert codes(diagnosis) == ["storage.network-home"]
    assert "local_store_dir" in diagnosis.findings[0].fix


def test_closed_device_nodes_are_a_warning():
    made = capture()
    made.statuses["/dev/nvidia0"] = FileStatus(0o660, "character device", 0, 0)
    diagnosis = examine(probe(CapturedSource(made)))
    assert codes(diagnosis) == ["container.device-modes"]
    assert "/dev/nvidia0 has mode 0660" in diagnosis.findings[0].seen


def test_what_lies_behind_a_broken_link_is_not_blamed():
    def finding(link: Link, severity: Severity) -> Finding:
        return Finding(link.name, link, severity, "s", "w", "f")

    diagnosis = diagnose(
        [
            finding(Link.APPLICATION, Severity.ERROR),
            finding(Link.CUDA, Severity.ERROR),
            finding(Link.DRIVER, Severity.WARNING),
            finding(Link.CONTAINER, Severity.WARNING),
        ]
    )
    assert codes(diagnosis) == ["DRIVER", "CUDA"]
    assert diagnosis.to_json()["broken_link"] == "cuda"
    assert diagnosis.to_json()["not_examined"] == ["container", "application"]
