"""An encoder on a graphics card: beside the card's own arithmetic, the library, and the processor.

python -m benchmarks.gpu                   # where torch finds no card it says so, with status 0
python -m benchmarks.gpu --write           # the same, and its figures into docs/scale.md
python -m benchmarks.gpu --device cpu      # the same code on the processor, with few texts
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import corpora
from benchmarks.figures import in_turn, seconds
from harness.embedders.shortening import to_unit_length
from harness.models.model_files import DEFAULT_MODEL, locate
from harness.models.runtime import processor, sentence_models
from harness.models.runtime.encoders import MAX_BATCH_TOKENS, TorchEncoder
from harness.models.runtime.processor import Device, Precision

PAGE = corpora.ROOT / "docs" / "scale.md"
NO_CARD = "torch finds no graphics card on this machine: nothing was measured on one."
TOP = 10
_CHARACTERS = {"short": (20, 80), "mixed": (20, 1_200), "long": (2_000, 2_400)}
_MARKED = re.compile(r"(<!-- gpu: begin -->\n).*?(<!-- gpu: end -->)", re.DOTALL)
_PASSAGE = 600


@dataclass(frozen=True)
class Speed:
    """Seconds of one kind of text, a pair a round: ours, then the library's own."""

    kind: str
    texts: int
    tokens: int
    flops: float
    pairs: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Alike:
    """Of the questions, the shares whose first hits are those of the processor in float32."""

    questions: int
    passages: int
    same_set: float
    same_order: float
    overlap: float


def flops(config: Any, tokens: int) -> float:
    """Return the operations that an encoder needs for one text of so many tokens.

    Of each layer and token, 2 operations a weight (4 h² of attention, 2 h i of the feed-forward
    part), and 4 h a token that is attended to: scores and weighted sum, 2 h each. h is
    `hidden_size`, i `intermediate_size`. Source: Kaplan et al., "Scaling Laws for Neural Language
    Models", 2020, table 1; it counts one of the two products of attention. Embeddings, softmax,
    norms and pooling are left out.
    """
    h, i = config.hidden_size, config.intermediate_size
    weights = 4 * h * h + 2 * h * i
    return float(config.num_hidden_layers * tokens * (2 * weights + 4 * h * tokens))


def limit(device: Device, numbers: Precision, size: int) -> float:
    """Return operations a second of the fastest of ten products of square matrices, measured."""
    import torch

    one, other = torch.randn((2, size, size), device=device, dtype=getattr(torch, numbers))

    def product() -> None:
        torch.mm(one, other)
        _wait(device)

    product()
    return 2 * size**3 / min(seconds(product) for _ in range(10))


def texts(kind: str, count: int) -> list[str]:
    """Return texts of one kind: as long as questions, of all lengths, or longer than is read."""
    least, most = _CHARACTERS[kind]
    draw = random.Random(corpora.SEED)
    made = corpora.texts(count, most)
    return [text[20:][: draw.randint(least, most)] for text in made]


def speed(kind: str, count: int, rounds: int, ours: Any, theirs: Any) -> Speed:
    """Return the seconds of both sides, in turn, each warmed up first with all the texts."""
    some = texts(kind, count)
    counts = sentence_models.count_tokens(theirs, some)
    lengths = [min(count, theirs.max_seq_length or count) for count in counts]
    sides: list[Callable[[], object]] = [
        lambda: to_unit_length(ours.vectors(some, "document")),
        lambda: theirs.encode(some, show_progress_bar=False),
    ]
    for side in sides:
        side()
    mine, other = sides
    pairs = in_turn(lambda: seconds(mine), lambda: seconds(other), rounds)
    needed = sum(flops(theirs[0].auto_model.config, each) for each in lengths)
    return Speed(kind, count, sum(lengths), needed, pairs)


def alike(exact: Any, other: Any, most: int) -> Alike:
    """Return how far two encoders rank the shipped corpus alike for the shipped questions."""
    passages = list(itertools.islice(_passages(), most))
    lines = (corpora.ROOT / "testsets" / "insurellm.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [str(json.loads(line)["question"]) for line in lines[:most]]
    first, second = (_ranked(encoder, passages, questions) for encoder in (exact, other))
    shared = [len(set(a) & set(b)) for a, b in zip(first, second, strict=True)]
    top = min(TOP, len(passages))
    return Alike(
        len(questions),
        len(passages),
        statistics.mean(each == top for each in shared),
        statistics.mean(bool((a == b).all()) for a, b in zip(first, second, strict=True)),
        statistics.mean(each / top for each in shared),
    )


def _ranked(encoder: Any, passages: list[str], questions: list[str]) -> NDArray[np.int64]:
    there = to_unit_length(encoder.vectors(passages, "document")).astype(np.float64)
    asked = to_unit_length(encoder.vectors(questions, "query")).astype(np.float64)
    return np.argsort(-(asked @ there.T), axis=1, kind="stable")[:, :TOP]


def _passages() -> Iterator[str]:
    for path in sorted(corpora.SHIPPED.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for start in range(0, len(text), _PASSAGE):
            yield text[start : start + _PASSAGE]


def _wait(device: Device) -> None:
    import torch

    if device != "cpu":
        torch.cuda.synchronize()


def measured(model: str, device: Device, rounds: int, count: int, size: int) -> str:
    """Return all that is measured on `device`, as paragraphs and tables of Markdown."""
    import torch
    from sentence_transformers import SentenceTransformer

    exact = sentence_models.load(model)
    numbers = processor.default_precision() if device != "cpu" else "float32"
    coarse: Precision = "bfloat16" if device != "cpu" or processor.has_bfloat16() else "float32"
    moved = {
        each: copy.deepcopy(exact).to(device, getattr(torch, each)) for each in {numbers, coarse}
    }
    ours = {each: TorchEncoder(moved[each], MAX_BATCH_TOKENS[device]) for each in moved}
    theirs = SentenceTransformer(str(locate(model)), device=device, local_files_only=True)
    ceiling = limit(device, numbers, size)
    found = [speed(kind, count, rounds, ours[numbers], theirs) for kind in _CHARACTERS]
    same = alike(TorchEncoder(exact, MAX_BATCH_TOKENS["cpu"]), ours[coarse], count)
    place = processor.card_name() or f"{processor.cores()} cores of {processor.name()}"
    head = (
        f"{Path(model).name} on {place}, torch {torch.__version__}, {numbers}; the limit, "
        f"{ceiling / 1e12:,.2f} TFLOP/s, is the fastest product of two {size} × {size} matrices "
        f"in the same process. Medians of {rounds} rounds in turn, slowest and fastest in brackets."
    )
    return "\n".join([head, "", *_table(found, ceiling), "", _sentence(same, coarse)])


def _table(found: Sequence[Speed], ceiling: float) -> Iterator[str]:
    yield "| texts | tokens a text | tokens/s | of the limit | `encode` tokens/s | times as fast |"
    yield "|---|--:|--:|--:|--:|--:|"
    for each in found:
        ours, theirs = (
            sorted(each.tokens / took for took in side) for side in zip(*each.pairs, strict=True)
        )
        ratio = sorted(other / mine for mine, other in each.pairs)
        share = each.flops / each.tokens * statistics.median(ours) / ceiling
        yield (
            f"| {each.texts:,} {each.kind} | {each.tokens / each.texts:.0f} | {_spread(ours)} "
            f"| {100 * share:.0f} % | {_spread(theirs)} "
            f"| {statistics.median(ratio):.2f} ({ratio[0]:.2f}–{ratio[-1]:.2f}) |"
        )


def _spread(rates: Sequence[float]) -> str:
    return f"{statistics.median(rates):,.0f} ({rates[0]:,.0f}–{rates[-1]:,.0f})"


def _sentence(same: Alike, numbers: Precision) -> str:
    return (
        f"Rankings in {numbers} beside those of the processor in float32, over {same.questions} "
        f"questions and {same.passages:,} passages of the shipped corpus: the same first {TOP} "
        f"passages for {100 * same.same_set:.0f} % of the questions, in the same order for "
        f"{100 * same.same_order:.0f} %; on average {100 * same.overlap:.1f} % of them are shared."
    )


def written(text: str, page: Path) -> None:
    """Put `text` between the markers of `page`, or at its end with markers of its own."""
    before = page.read_text(encoding="utf-8") if page.exists() else "# Scale\n"
    if not _MARKED.search(before):
        before += "\n## GPU\n\n<!-- gpu: begin -->\n<!-- gpu: end -->\n"
    after = _MARKED.sub(lambda found: f"{found[1]}{text}\n{found[2]}", before)
    held = page.with_name(f".{page.name}.new")
    held.write_text(after, encoding="utf-8")
    os.replace(held, page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and with `--write` write; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, help="of each kind")
    parser.add_argument("--matrix", type=int, help="rows of the matrices of the limit")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    given = parser.parse_args(arguments)
    bare = processor.device() == "cpu"
    if bare:
        print(NO_CARD)
    if bare and given.device == "cuda":
        return 0
    large = given.device == "cuda"
    count = given.texts or (20_000 if large else 64)
    size = given.matrix or (8_192 if large else 1_024)
    began = time.monotonic()
    text = measured(given.model, given.device, given.rounds, count, size)
    print(text)
    if given.write:
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        command = "python -m benchmarks.gpu --write" + ("" if large else " --device cpu")
        note = f" {NO_CARD} The same code on the processor:" if bare else ""
        took = f"{time.monotonic() - began:,.0f} s"
        written(f"`{command}`, {day}, {took}.{note}\n\n{text}", PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
