"""The step `export_direct`: what it reads, writes, refuses and costs."""

import math

import onnx
import pytest
import step_process

from enginewright import canonical_json
from enginewright.actions.export_direct import run
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.onnx_model.record import TensorRecord, read_record
from enginewright.step import ActionRequest, InputFile

TINY = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
}
QWEN3_0_6B = {
    **TINY,
    "vocab_size": 151936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
}
PARAMETERS = {
    "task": "text-generation-with-past",
    "opset": 23,
    "dtype": "bfloat16",
    "logits": "last",
}


def descriptor(config, dtype="BF16", size=2):
    """`checkpoint.json` of weights that do not exist."""
    hidden, intermediate = config["hidden_size"], config["intermediate_size"]
    query = config["num_attention_heads"] * config["head_dim"]
    key_value = config["num_key_value_heads"] * config["head_dim"]
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden]}
    for layer in range(config["num_hidden_layers"]):
        here = f"model.layers.{layer}"
        shapes |= {
            f"{here}.input_layernorm.weight": [hidden],
            f"{here}.mlp.down_proj.weight": [hidden, intermediate],
            f"{here}.mlp.gate_proj.weight": [intermediate, hidden],
            f"{here}.mlp.up_proj.weight": [intermediate, hidden],
            f"{here}.post_attention_layernorm.weight": [hidden],
            f"{here}.self_attn.k_norm.weight": [config["head_dim"]],
            f"{here}.self_attn.k_proj.weight": [key_value, hidden],
            f"{here}.self_attn.o_proj.weight": [hidden, query],
            f"{here}.self_attn.q_norm.weight": [config["head_dim"]],
            f"{here}.self_attn.q_proj.weight": [query, hidden],
            f"{here}.self_attn.v_proj.weight": [key_value, hidden],
        }
    shapes["model.norm.weight"] = [hidden]
    tensors, offset = [], 1000
    for name, shape in shapes.items():
        end = offset + size * math.prod(shape)
        tensors.append(
            {
                "name": name,
                "dtype": dtype,
                "shape": shape,
                "file": "model.safetensors",
                "begin": offset,
                "end": end,
            }
        )
        offset = end
    return {"tensors": tensors}


def input_file(path):
    return (InputFile(path, FileDigest.of(path)),)


def export(folder, config, checkpoint, **changes):
    folder.mkdir(exist_ok=True)
    canonical_json.write(folder / "config.json", config)
    canonical_json.write(folder / "checkpoint.json", checkpoint)
    request = ActionRequest(
        "export_direct",
        {
            "config": input_file(folder / "config.json"),
            "descriptor": input_file(folder / "checkpoint.json"),
        },
        {**PARAMETERS, **changes},
    )
    result = run(request, folder / "outputs")
    return result, folder / "outputs/model/model.onnx"


def problems(folder, config, checkpoint, **changes):
    with pytest.raises(InputError) as caught:
        export(folder, config, checkpoint, **changes)
    return caught.value.problems


def test_weights_stay_where_they_are(tmp_path):
    result, path = export(tmp_path, TINY, descriptor(TINY))
    assert result["converted"] is False
    assert read_record(tmp_path / "outputs/onnx.json").external_data == ("model.safetensors",)
    model = onnx.load(path, load_external_data=False)
    external = {
        tensor.name: {entry.key: entry.value for entry in tensor.external_data}
        for tensor in model.graph.initializer
        if tensor.external_data
    }
    # 64 * 32 elements of 2 bytes after a header of 1000.
    assert external["model.embed_tokens.weight"] == {
        "location": "model.safetensors",
        "offset": "1000",
        "length": "4096",
    }
    assert len(external) == len(descriptor(TINY)["tensors"])
    assert path.stat().st_size < 60_000


def test_onnx_checker_accepts_the_graph(tmp_path):
    _, path = export(tmp_path, TINY, descriptor(TINY))
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        if tensor.external_data:  # the checker would look for the file
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = bytes(2 * math.prod(tensor.dims))
    onnx.checker.check_model(model, full_check=True)
    assert [entry.version for entry in model.opset_import] == [23]
    operators = {node.op_type for node in model.graph.node}
    assert {"Attention", "RMSNormalization", "RotaryEmbedding"} <= operators


def test_same_bytes_from_two_folders(tmp_path):
    _, one = export(tmp_path / "one", TINY, descriptor(TINY))
    _, other = export(tmp_path / "another place", TINY, descriptor(TINY))
    assert one.read_bytes() == other.read_bytes()


def test_another_dtype_names_converted_weights(tmp_path):
    result, path = export(tmp_path, TINY, descriptor(TINY), dtype="float16")
    assert result["converted"] is True
    model = onnx.load(path, load_external_data=False)
    weights = [tensor for tensor in model.graph.initializer if tensor.external_data]
    assert {tensor.data_type for tensor in weights} == {onnx.TensorProto.FLOAT16}


def test_the_record_describes_the_interface(tmp_path):
    export(tmp_path, TINY, descriptor(TINY), task="text-generation", logits="all")
    record = read_record(tmp_path / "outputs/onnx.json")
    assert record.inputs == (TensorRecord("input_ids", "int64", ("batch", "sequence")),)
    assert record.outputs == (TensorRecord("logits", "bfloat16", ("batch", "sequence", 64)),)


def test_unknown_architecture_points_to_no_other_exporter(tmp_path):
    config = {**TINY, "architectures": ["GemmaForCausalLM"], "model_type": "gemma"}
    (problem,) = problems(tmp_path, config, descriptor(TINY))
    assert problem.actual == "`GemmaForCausalLM`"
    assert problem.expected == (
        "LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM"
    )
    # The one of torch has the same decoders, and any network for the other task.
    assert problem.fix == (
        "no exporter has another architecture for this task; "
        "`GemmaForCausalLM` can be exported for feature-extraction"
    )


def test_all_unsupported_fields_at_once(tmp_path):
    config = {
        **TINY,
        "hidden_act": "gelu",
        "quantization_config": {"quant_method": "gptq"},
        "use_alibi": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e4,
            "partial_rotary_factor": 0.5,
        },
    }
    fields = [problem.where for problem in problems(tmp_path, config, descriptor(TINY))]
    assert fields == [
        "config.json, `quantization_config`",
        "config.json, `use_alibi`",
        "config.json, `hidden_act`",
        "config.json, `partial_rotary_factor`",
    ]


def test_all_wrong_tensors_at_once(tmp_path):
    checkpoint = descriptor(TINY)
    del checkpoint["tensors"][1]
    checkpoint["tensors"][1]["shape"] = [48, 32]
    first, second = problems(tmp_path, TINY, checkpoint)
    assert first.where == "checkpoint.json, `model.layers.0.input_layernorm.weight`"
    assert first.expected == "shape (32,)"
    assert second.where == "checkpoint.json, `model.layers.0.mlp.down_proj.weight`"
    assert (second.expected, second.actual) == ("shape (32, 48)", "shape (48, 32)")


def test_integer_weights_are_refused(tmp_path):
    found = problems(tmp_path, TINY, descriptor(TINY, dtype="I8", size=1))
    assert found[0].actual == "I8"
    assert len(found) == len(descriptor(TINY)["tensors"])


def test_wrong_parameters_at_once(tmp_path):
    found = problems(
        tmp_path, TINY, descriptor(TINY), task="chat", opset=17, dtype="int8", logits="none"
    )
    assert [problem.where for problem in found] == [
        "parameters, task",
        "parameters, opset",
        "parameters, dtype",
        "parameters, logits",
    ]


def test_full_size_in_three_seconds_and_300_megabytes(tmp_path):
    """The whole process for Qwen3-0.6B; there are no weights at all."""
    canonical_json.write(tmp_path / "config.json", QWEN3_0_6B)
    canonical_json.write(tmp_path / "checkpoint.json", descriptor(QWEN3_0_6B))
    files = {"config": ["config.json"], "descriptor": ["checkpoint.json"]}
    step_process.write_request(tmp_path, "export_direct", files, PARAMETERS)
    program = (
        "import resource, runpy, sys\n"
        "sys.argv = ['export_direct']\n"
        "try:\n"
        "    step = 'enginewright.actions.export_direct'\n"
        "    runpy.run_module(step, run_name='__main__', alter_sys=True)\n"
        "finally:\n"
        "    usage = resource.getrusage(resource.RUSAGE_SELF)\n"
        # Not ru_maxrss: a child begins with the peak of the process that forked it.
        "    status = open('/proc/self/status').read()\n"
        "    peak = status.partition('VmHWM:')[2].split()[0]\n"
        "    print(peak, usage.ru_utime + usage.ru_stime, 'torch' in sys.modules)\n"
    )
    ran = step_process.run(tmp_path, "-c", program)
    assert ran.code == 0, ran.errors
    kilobytes, seconds, imports_torch = ran.printed.split()
    assert imports_torch == "False"
    assert int(kilobytes) < 300_000
    # Processor time: the tests share their host with others.
    assert float(seconds) < 3.0
    assert ran.result["nodes"] > 28 * 30
