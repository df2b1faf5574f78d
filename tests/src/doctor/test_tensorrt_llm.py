"""TensorRT-LLM's engine config: the release first. The product itself was never run here."""

from enginewright.doctor.tensorrt_llm import engine_config_findings


def test_row_52_a_config_with_build_config_only():
    (finding,) = engine_config_findings({"build_config": {"max_batch_size": 8}}, "0.9.0")
    assert finding.code == "engine.tensorrt-llm-version"
    assert "no `version`" in finding.seen


def test_row_52_the_release_is_compared_before_anything_else():
    config = {"version": "0.9.0", "build_config": {}, "pretrained_config": {}}
    (finding,) = engine_config_findings(config, "0.8.0")
    assert finding.seen == "the engine was built by TensorRT-LLM 0.9.0, the runtime is 0.8.0"
    assert engine_config_findings(config, "0.9.0") == []


def test_row_52_an_old_config_is_told_apart():
    (finding,) = engine_config_findings({"builder_config": {}}, None)
    assert "before 0.6" in finding.seen
