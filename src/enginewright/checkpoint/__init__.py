"""Model checkpoints: safetensors headers, `config.json`, and whether the two agree."""
