"""`library_defaults.json` against the config classes of the transformers library.

To write it anew for another release, with the packages of lockfiles/export.txt:
`PYTHONPATH=src python tests/src/memory/test_library_defaults.py`.
"""

import dataclasses
import json
import re

import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
)

from enginewright.memory import families

SHAPE = re.compile(
    r"layer|group|window|head|shar|kv|attn|attention|mamba|ssm|conv|state|linear|recurr|latent|lora"
    r"|pattern|idx|indices|index|ids|interval|period|offset|hybrid|quer|n_embd|d_model|hidden_size|ffn"
    r"|intermediate|vocab_size|max_position|n_positions|length|max_seq_len|n_inner|expand|lru|block"
    r"|experts_per|moe_intermediate|_width|chunk|cache|local|global|compress|stride|mtp|nextn|loop|sink"
)
"""Names of fields that may say something about sizes."""
NO_SIZE = re.compile(
    r".*(dropout|pdrop|_bias|norm.*|token_id|token_index|layerdrop|epsilon)|output_.*|use_cache"
    r"|chunk_size_feed_forward|(id2label|label2id|vocab_size_per_layer_input)"
)


def relevant(name):
    return SHAPE.search(name) is not None and NO_SIZE.fullmatch(name) is None


def fields_of(config_class):
    found = {}
    for field in dataclasses.fields(config_class):
        default = field.default
        if default is dataclasses.MISSING:
            factory = field.default_factory
            default = None if factory is dataclasses.MISSING else factory()
        if relevant(field.name) and isinstance(default, int | str | list | tuple | None):
            found[field.name] = list(default) if isinstance(default, tuple) else default
    return found


def library_table():
    """Types of decoders, with the defaults and the names of the fields of their config classes."""
    types, text_types = {}, {}
    names = {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES}
    for name in sorted(names):
        try:
            config = CONFIG_MAPPING[name]()
        except StrictDataclassError:  # An assistant's class has no valid default.
            continue
        text = config.get_text_config(decoder=True)
        if text.model_type != name:
            text_types[name] = text.model_type
        fields = fields_of(type(text))
        types[text.model_type] = {
            "defaults": {key: value for key, value in fields.items() if value not in (None, [])},
            "fields": sorted(fields),
        }
    return {
        "source": f"config classes of transformers {transformers.__version__}",
        "text_types": text_types,
        "types": types,
    }


def dumped(table):
    """One type a line."""
    parts = []
    for key in ("source", "text_types"):
        parts.append(f' "{key}": {json.dumps(table[key], sort_keys=True)}')
    types = ",\n".join(
        f'  "{name}": {json.dumps(entry, sort_keys=True)}'
        for name, entry in sorted(table["types"].items())
    )
    return "{\n" + ",\n".join([*parts, ' "types": {\n' + types + "\n }"]) + "\n}\n"


def test_the_table_has_the_defaults_of_the_library():
    assert families.library() == library_table()


def test_a_default_that_a_published_config_leaves_out():
    # https://huggingface.co/google/gemma-3-27b-it: text_config has neither field.
    defaults = families.family("gemma3_text").defaults
    assert (defaults["vocab_size"], defaults["max_position_embeddings"]) == (262208, 131072)


if __name__ == "__main__":
    import sys
    from importlib.resources import files

    path = files("enginewright.memory") / "library_defaults.json"
    sys.stdout.write(f"{path}\n")
    path.write_text(dumped(library_table()), encoding="utf-8")
