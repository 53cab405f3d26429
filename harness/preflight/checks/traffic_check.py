"""Compares the test set with real user questions (`traffic`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from harness.cache.folders import Cache
from harness.embedders import embedders
from harness.embedders.vector_cache import CachedEmbedder
from harness.fingerprint import sha256_of
from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.preflight.traffic import traffic_reader
from harness.preflight.traffic.likeness import (
    CategoryShare,
    Far,
    Lengths,
    Likeness,
    measure_likeness,
)
from harness.protocols import Embedder
from harness.registry import label
from harness.runs.artefacts import Progress
from harness.runs.run_inputs import RunInputs
from harness.text import numbers

_WARNING_SHARE = 0.1
"""The share of real questions with no test question near over which a run warns."""
_HOSTED = "langchain"
_MAX_CATEGORIES = 5


@checks.register
@dataclass(frozen=True)
class UnlikeTraffic:
    """Holds the test set against the file that `traffic` names, by the first embedder.

    What it finds is kept, by line and not by text: what people asked stays in their file.
    """

    name: ClassVar[str] = "traffic"
    order: ClassVar[int] = 900
    reads: ClassVar[tuple[Part, ...] | None] = None

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: it is asked for by naming a file, and what it finds is kept."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what is near, how long questions are, and their categories."""
        path = run.prepared.config.traffic
        if path is None:
            return
        result = compare_traffic(run.prepared, run.cache, run.deep, run.progress)
        if result is None:
            text = f"{path.name}: a hosted model embeds, so the questions were not compared"
            yield Finding(self.name, "warning", text, "run: python -m harness validate --deep")
            return
        yield _report_nearness(result, label(_first_embedder(run.prepared)))
        yield Finding(self.name, "note", _describe_lengths(result.lengths))
        if result.categories:
            yield Finding(self.name, "note", _describe_categories(result.categories))


def compare_traffic(
    prepared: RunInputs,
    cache: Cache,
    deep: bool = True,
    progress: Progress = lambda work, done, total: None,
) -> Likeness | None:
    """Return how far the test set is like the questions of `traffic`; it is kept.

    None where the configuration names no such file, and where it is not known yet and a hosted
    model would be asked, unless `deep`.

    Raises:
        DataError: the file cannot be read as questions.
        HarnessError: the embedder cannot be used.
    """
    path, tests = prepared.config.traffic, prepared.whole
    if path is None:
        return None
    traffic_reader.check(path)
    embedder = _first_embedder(prepared)
    about = {"testset": tests.id, "embedder": embedder.identity()}
    table = cache.table("traffic", Likeness, about, counted=False)
    key = (sha256_of(path), path.suffix.lower())
    cached = table.get([key]).get(key)
    if cached is not None:
        return cached
    if embedder.name == _HOSTED and not deep:
        return None
    texts = CachedEmbedder(embedder, cache)
    result = measure_likeness(
        traffic_reader.read(path),
        tests.questions,
        lambda batch: texts.embed(batch, "query")[0],
        partial(progress, "comparing the questions people ask"),
    )
    table.put({key: result})
    return result


def find_unlike_questions(prepared: RunInputs) -> list[dict[str, Any]]:
    """Return the real questions with no test question near, those asked most often first.

    Each has `line`, `question`, `times`, `similarity` and `nearest`, the id of a test question.
    There are none where the configuration names no such file.

    Raises:
        DataError: the file cannot be read as questions.
        HarnessError: the embedder or the cache cannot be used.
    """
    path = prepared.config.traffic
    if path is None:
        return []
    with Cache(prepared.config.cache) as cache:
        result = compare_traffic(prepared, cache)
    assert result is not None
    texts = {question.line: question.text for question in traffic_reader.read(path).questions}
    # Of a file that is being written to, a line may hold another text than it did.
    return [
        {
            "line": question.line,
            "question": texts.get(question.line, ""),
            **_question_fields(question),
        }
        for question in result.far
    ]


def _question_fields(question: Far) -> dict[str, Any]:
    return {"times": question.times, "similarity": question.similarity, "nearest": question.nearest}


def _first_embedder(prepared: RunInputs) -> Embedder:
    """Return the first embedder of the grid, and the default one where there is none."""
    used = (cell.embedder for cell in prepared.config.cells)
    first = next((embedder for embedder in used if embedder is not None), None)
    return first or embedders.build("sentence_transformer")


def _report_nearness(result: Likeness, embedder: str) -> Finding:
    subject = numbers.count(result.looked_at, "question") + " people asked"
    if result.looked_at < result.asked:
        subject = (
            f"{result.looked_at:,}, chosen by chance, of the {result.asked:,} questions people "
            "asked"
        )
    subject += f" ({result.different:,} different)"
    if result.bound is None or result.far_share is None:
        text = f"{subject}: one test question is too few to say what is near"
        return Finding("traffic", "note", text)
    text = (
        f"{numbers.percent(result.far_share)}{_describe_interval(result)} of {subject} have no "
        f"test question near, which is a cosine of {result.bound:.2f} by {embedder}; of "
        f"questions like the test's own {numbers.percent(result.expected)} would have none"
    )
    if result.far_share <= max(_WARNING_SHARE, 2 * result.expected):
        return Finding("traffic", "note", text)
    lines = tuple(f"line {question.line}" for question in result.far[:MAX_EXAMPLES])
    remedy = "write test questions like those that `validate --deep --traffic FILE` lists"
    return Finding("traffic", "warning", text, remedy, lines)


def _describe_interval(result: Likeness) -> str:
    if result.far_low is None or result.far_high is None:
        return ""
    return f" ({100 * result.far_low:.1f} to {numbers.percent(result.far_high)})"


def _describe_lengths(lengths: Lengths) -> str:
    text = (
        f"half of the questions people ask have up to {_describe_words(*lengths.real)}, "
        f"half of the test's up to {_describe_words(*lengths.tests)}"
    )
    if lengths.p_value >= 0.05:
        return f"{text}; that they differ in length is not shown"
    how, share = (
        ("longer", lengths.longer) if lengths.longer >= 0.5 else ("shorter", 1 - lengths.longer)
    )
    return f"{text}: of a pair, the one people ask is {how} in {numbers.percent(share)}"


def _describe_words(low: float, median: float, high: float) -> str:
    return f"{median:g} words (the middle half {low:g} to {high:g})"


def _describe_categories(shares: Sequence[CategoryShare]) -> str:
    parts = [
        f"{share.name[:60]!r} {numbers.percent(share.real)} and {numbers.percent(share.tests)}"
        for share in shares[:_MAX_CATEGORIES]
    ]
    rest = (
        f"; {len(shares) - _MAX_CATEGORIES} more differ less"
        if len(shares) > _MAX_CATEGORIES
        else ""
    )
    return f"categories, of what people ask and of the test: {', '.join(parts)}{rest}"


def to_jsonl(unlike: Sequence[Mapping[str, Any]]) -> str:
    """Return results of `find_unlike_questions` as JSON Lines."""
    return "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in unlike)
