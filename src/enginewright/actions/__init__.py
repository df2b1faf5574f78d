"""One small program a step: reads `request.json`, writes its outputs and `result.json`."""
