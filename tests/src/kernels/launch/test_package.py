import json
from pathlib import Path

import pytest

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.kernels.descriptor import Pointer, Value
from enginewright.kernels.launch.package import Image, KernelPackage, PackagedKernel


def write_package(folder, name="scale", **changes):
    folder.mkdir(exist_ok=True)
    (folder / "scale.sm_90.cubin").write_bytes(b"machine code")
    (folder / "scale.compute_90.ptx").write_bytes(b"portable code")

    def artifact(name, **more):
        digest = FileDigest.of(folder / name)
        return {"file": name, "sha256": digest.sha256, "size": digest.size, **more}

    kernel = {
        "name": name,
        "parameters": [
            {"name": "x", "type": "pointer", "element": "float16", "writable": True},
            {"name": "count", "type": "int64"},
        ],
        "max_threads": 256,
        "resources": {},
    }
    tool = {"name": "tool", "version": "1"}
    source = {"file": "csrc/scale.cu", "sha256": "0" * 64, "size": 1}
    document = {
        "format": 1,
        "toolkit": tool,
        "host_compiler": tool,
        "flags": [],
        "compute_capabilities": ["9.0"],
        "ptx_version": "9.0",
        "sources": [
            {
                "name": "scale",
                "source": source,
                "fatbin": artifact("scale.sm_90.cubin"),
                "cubins": [artifact("scale.sm_90.cubin", compute_capability="9.0")],
                "ptx": artifact("scale.compute_90.ptx", compute_capability="9.0", version="9.0"),
                "kernels": [kernel],
            }
        ],
        **changes,
    }
    (folder / "kernels.json").write_text(json.dumps(document))
    return folder


def test_kernels_and_images(tmp_path):
    package = KernelPackage.read(write_package(tmp_path))
    assert package.kernel("scale") == PackagedKernel(
        "scale",
        (Pointer("x", "float16", True), Value("count", "int64")),
        256,
        "scale",
    )
    cubin, ptx = package.images["scale"]
    assert cubin == Image(
        tmp_path / "scale.sm_90.cubin",
        FileDigest.of(tmp_path / "scale.sm_90.cubin"),
        ComputeCapability(9, 0),
        is_ptx=False,
    )
    assert cubin.read() == b"machine code"
    assert ptx.is_ptx


def test_an_image_that_was_changed(tmp_path):
    package = KernelPackage.read(write_package(tmp_path))
    (tmp_path / "scale.sm_90.cubin").write_bytes(b"other code!!")
    with pytest.raises(InputError, match="differs from the one that was promised"):
        package.images["scale"][0].read()


def test_a_kernel_that_is_not_there(tmp_path):
    with pytest.raises(InputError) as caught:
        KernelPackage.read(write_package(tmp_path)).kernel("sacle")
    (problem,) = caught.value.problems
    assert (problem.where, problem.expected) == ("sacle", "one of scale")


def test_a_folder_without_a_descriptor(tmp_path):
    with pytest.raises(InputError, match="no descriptor of kernels"):
        KernelPackage.read(Path(tmp_path))


def test_a_descriptor_of_another_format(tmp_path):
    with pytest.raises(InputError) as caught:
        KernelPackage.read(write_package(tmp_path, format=2))
    assert caught.value.problems[0].actual == "format 2"


def test_a_tree_of_packages(tmp_path):
    write_package(tmp_path / "first", "scale")
    write_package(tmp_path / "second", "shift")
    package = KernelPackage.read_tree(tmp_path)
    assert {name: kernel.source for name, kernel in package.kernels.items()} == {
        "scale": "first/scale",
        "shift": "second/scale",
    }
    assert package.images["second/scale"][0].path == tmp_path / "second/scale.sm_90.cubin"


def test_a_tree_with_a_kernel_twice(tmp_path):
    write_package(tmp_path)
    write_package(tmp_path / "second")
    with pytest.raises(InputError, match="two packages have a kernel of this name") as caught:
        KernelPackage.read_tree(tmp_path)
    (problem,) = caught.value.problems
    assert problem.actual == "also from `scale`"


def test_a_tree_without_a_descriptor(tmp_path):
    with pytest.raises(InputError, match="no descriptor of kernels"):
        KernelPackage.read_tree(tmp_path)


def test_a_package_with_code_of_a_variant(tmp_path):
    folder = write_package(tmp_path)
    text = (folder / "kernels.json").read_text()
    old, new = (f'"compute_capability": "{one}"' for one in ("9.0", "9.0a"))
    (folder / "kernels.json").write_text(text.replace(old, new, 1))
    cubin = KernelPackage.read(folder).images["scale"][0]
    assert cubin.compute_capability == ComputeCapability(9, 0, "a")


def test_everything_that_is_wrong_with_a_descriptor(tmp_path):
    folder = write_package(tmp_path, flags="-O3")
    document = json.loads((folder / "kernels.json").read_text())
    document["sources"][0]["cubins"][0]["file"] = "../outside.cubin"
    document["sources"][0]["kernels"][0]["parameters"][1] = {"name": "count", "type": "pointer"}
    (folder / "kernels.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        KernelPackage.read(folder)
    places = [problem.where.partition(", ")[2] for problem in caught.value.problems]
    assert places == ["flags", "sources[0].cubins[0].file", "sources[0].kernels[0].parameters[1]"]
