"""Which opsets each exporter writes; a BUILD file is checked by the same numbers.

`torch`: what `torch.onnx.export(dynamo=True)` of torch 2.13 writes. `direct`: its operators for
normalization, rotation and attention came with 23, and 24 changed `Attention`.
"""

from __future__ import annotations

OPSETS = {"torch": (18, 19, 20, 21, 22, 23), "direct": (23,)}
