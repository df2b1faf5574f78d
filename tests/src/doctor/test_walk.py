"""The chain, on hosts that each have one thing wrong."""

import pytest

from enginewright.doctor.engine_facts import engine_facts
from enginewright.doctor.finding import Finding, Link, Severity, diagnose
from enginewright.doctor.report import text
from enginewright.doctor.walk import examine, lost_inside
from enginewright.host.captured import Capture, CapturedSource
from enginewright.host.probe import probe
from enginewright.host.sources import FileStatus

FOLDER = FileStatus(0o755, "directory", 0, 0)
NODES = ("nvidia-uvm", "nvidia0", "nvidiactl")


def gpu(name: str = "NVIDIA H200", capability=(9, 0), total: int = 140 << 30) -> dict:
    return {
        "name": name,
        "compute_capability": list(capability),
        "memory_total": total,
        "memory_free": total,
        "pcie_width": 16,
        "pcie_width_max": 16,
    }


def capture(
    module: str | None = "580.159.04",
    library: str | None = "580.159.04",
    nodes: tuple[str, ...] = NODES,
    gpus: tuple[dict, ...] | None = (gpu(),),
    error: dict | None = None,
    os_release: str = "ID=ubuntu\n",
    container: bool = False,
    shm: int = 16 << 30,
    folder: str = "/usr/lib/x86_64-linux-gnu",
    kernel: str = "6.8.0-generic",
) -> Capture:
    made = Capture(now=1000, nvml=error or {"driver_version": module, "devices": list(gpus or ())})
    made.files["/etc/os-release"] = os_release.encode()
    made.files["/proc/sys/kernel/osrelease"] = kernel.encode()
    made.files["/proc/1/cgroup"] = b"0::/\n"
    if module:
        made.files["/proc/driver/nvidia/version"] = (
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {module}  Release Build\n".encode()
        )
    if library:
        made.directories[folder] = ("libcuda.so.1", f"libcuda.so.{library}")
        for end in range(2, len(folder.split("/")) + 1):
            made.statuses["/".join(folder.split("/")[:end])] = FOLDER
        made.statuses[f"{folder}/libcuda.so.1"] = FileStatus(
            0o777, "link", 0, 0, f"libcuda.so.{library}"
        )
    made.directories["/dev"] = nodes
    for node in nodes:
        made.statuses[f"/dev/{node}"] = FileStatus(0o666, "character device", 0, 0)
    if container:
        made.statuses["/.dockerenv"] = FileStatus(0o644, "file", 0, 0)
    made.sizes["/dev/shm"] = shm
    return made


def host(**changes):
    return probe(CapturedSource(capture(**changes)))


def codes(diagnosis) -> list[str]:
    return [finding.code for finding in diagnosis.findings]


def test_a_sound_host_has_nothing_to_change():
    diagnosis = examine(host())
    assert (codes(diagnosis), diagnosis.exit_code) == ([], 0)
    assert text(diagnosis).startswith("Nothing to change")


def test_a_host_without_a_gpu_says_so_in_one_line():
    diagnosis = examine(host(module=None, library=None, nodes=(), error={"error": "not found"}))
    assert diagnosis.exit_code == 0
    assert len(text(diagnosis).splitlines()) == 1
    assert text(diagnosis).startswith("No NVIDIA GPU here. What still works: ")


def test_a_gpu_without_a_driver():
    made = capture(module=None, library=None, nodes=(), error={"error": "not found"})
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
    assert "kernel module 520.56.06, user-space libraries 525.85.12" in finding.seen
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
    diagnosis = examine(host(shm=64 << 20, gpus=(gpu(), gpu())))
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
    assert codes(examine(made)) == []
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


def engine(product="tensorrt-rtx", version="1.7.1.116", targets=("8.6", "8.9"), **fields):
    return engine_facts(
        {
            "product": {"name": product, "version": version},
            "cuda": "13.0",
            "minimum_driver": "580.65.06",
            "compute_capabilities": list(targets),
            "files": {"engine.plan": {"sha256": "0" * 64, "size": 1}},
            **fields,
        },
        "engine.json",
    )


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
    return probe(CapturedSource(made))


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
        plan={"size": 20 << 30},
        tensors=[{"name": "x", "dtype": "float32", "shape": ["batch", 1 << 20]}],
        profiles=[{"axes": {"batch": [1, 1, 8]}}, {"axes": {"batch": [1, 512, 1024]}}],
    )
    found = [item for item in examine(ada(), facts).findings if item.code == "engine.memory"]
    assert len(found) == 1
    assert "profile 1 needs at least 24576 MiB" in found[0].seen
    assert "GPU 0 has 23034 MiB" in found[0].seen


def test_one_able_card_is_enough():
    both = host(gpus=(gpu(), gpu("NVIDIA L4", (8, 9), 23034 << 20)))
    diagnosis = examine(both, engine())
    severities = {item.code: item.severity for item in diagnosis.findings}
    assert severities["engine.product-cannot-run"] == Severity.NOTE
    assert diagnosis.broken is None


def test_an_engine_on_a_host_without_a_gpu_is_an_error():
    bare = host(module=None, library=None, nodes=(), error={"error": "not found"})
    diagnosis = examine(bare, engine())
    assert codes(diagnosis) == ["hardware.no-gpu"]
    assert diagnosis.exit_code == 1


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
