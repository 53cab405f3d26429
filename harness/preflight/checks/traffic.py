"""Compares the test set with real user questions (`traffic`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from harness.cache.folders import Cache
from harness.embedders import embedders
from harness.embedders.vector_cache import CachedEmbedder
from harness.files.batches import batched
from harness.fingerprint import sha256_of
from harness.preflight import traffic_file
from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding
from harness.preflight.traffic_file import TrafficFile
from harness.protocols import Embedder, Vectors
from harness.ranking.relevance import fold
from harness.records import Question
from harness.registry import label
from harness.runs.artefacts import Progress
from harness.runs.run_inputs import RunInputs
from harness.stats.intervals import Interval, mean_interval
from harness.text import numbers

_WARNING_SHARE = 0.1
"""The share of real questions with no test question near over which a run warns."""
_FAR_SHARE = 0.05
"""The share of questions like the test's own that are to have no test question near."""
_BATCH_QUESTIONS = 1_024
_MAX_MEASURED = 2_000
"""Test questions that the bound is measured on, at most."""


@dataclass(frozen=True)
class Far:
    """A real question with no test question near: its line, and how many times it was asked.

    `nearest` is the id of the test question that is nearest all the same.
    """

    line: int
    times: int
    similarity: float
    nearest: str


@dataclass(frozen=True)
class Likeness:
    """How far a test set is like the questions that people ask; shares are of questions asked.

    `asked` is how many the file has, `looked_at` how many were compared, `different` those among
    them that differ. A real question is `far` where no test question's cosine reaches `bound`,
    which is None where there are too few test questions to measure it; of questions like the test's
    own, the share `expected` would be far.
    """

    asked: int
    looked_at: int
    different: int
    tests: int
    bound: float | None
    expected: float
    far: tuple[Far, ...]
    far_share: float
    interval: Interval


def find_unlike_traffic(run: CheckInput) -> Iterator[Finding]:
    """Yield how many real questions no test question is near, by the first embedder."""
    path = run.prepared.config.traffic
    if path is None:
        return
    result = compare_traffic(run.prepared, run.cache, run.deep, run.progress)
    if result is None:
        text = f"{path.name}: a hosted model embeds, so the questions were not compared"
        yield Finding("traffic", "warning", text, "run: python -m harness validate --deep")
        return
    yield _report_nearness(result, label(_first_embedder(run.prepared)))


def compare_traffic(
    prepared: RunInputs,
    cache: Cache,
    deep: bool = True,
    progress: Progress = lambda work, done, total: None,
) -> Likeness | None:
    """Return how far the test set is like the questions of `traffic`.

    It is kept, by line and not by text: what people asked stays in their file. None where the
    configuration names no such file, and where it is not known yet and a hosted model would be
    asked, unless `deep`.

    Raises:
        DataError: the file cannot be read as questions.
        HarnessError: the embedder cannot be used.
    """
    path, tests = prepared.config.traffic, prepared.whole
    if path is None:
        return None
    traffic_file.check(path)
    embedder = _first_embedder(prepared)
    about = {"testset": tests.id, "embedder": embedder.identity()}
    table = cache.table("traffic", Likeness, about, counted=False)
    key = (sha256_of(path), path.suffix.lower())
    cached = table.get([key]).get(key)
    if cached is not None or (embedder.name == "langchain" and not deep):
        return cached
    texts = CachedEmbedder(embedder, cache)
    result = measure_likeness(
        traffic_file.read(path),
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
    texts = {question.line: question.text for question in traffic_file.read(path).questions}
    # Of a file that is being written to, a line may hold another text than it did.
    return [
        {"line": far.line, "question": texts.get(far.line, ""), **asdict(far)} for far in result.far
    ]


def to_jsonl(unlike: Sequence[Mapping[str, Any]]) -> str:
    """Return results of `find_unlike_questions` as JSON Lines."""
    return "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in unlike)


def _first_embedder(prepared: RunInputs) -> Embedder:
    """Return the first embedder of the grid, and the default one where there is none."""
    used = (cell.embedder for cell in prepared.config.cells)
    first = next((embedder for embedder in used if embedder is not None), None)
    return first or embedders.build("sentence_transformer")


def measure_likeness(
    traffic: TrafficFile,
    tests: Sequence[Question],
    embed: Callable[[Sequence[str]], Vectors],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Likeness:
    """Compare one question or more of each kind; what is far comes most often asked first.

    The bound is measured on the test set: each of its n questions has a nearest other one, and of
    these cosines the bound is the k-th smallest, k = 5 % of n + 1, at least 1. Of n + 1 questions
    of one kind each is as likely as any to be the farthest from the others, so that of real
    questions like the test's k / (n + 1) are far. A test question that is there twice counts once.
    `embed` gives a unit vector a question; `progress` receives how many different questions have
    been compared, and of how many.
    """
    times = Counter(fold(question.text) for question in traffic.questions)
    different = {fold(question.text): question for question in reversed(traffic.questions)}
    first_tests = {fold(question.text): question for question in reversed(tests)}
    distinct_tests = list(first_tests.values())[::-1]
    vectors = embed([question.text for question in distinct_tests])
    bound, expected = _measure_bound(vectors)
    done = 0
    far: list[Far] = []
    for batch in batched(list(different.items()) if bound is not None else (), _BATCH_QUESTIONS):
        similarities = embed([question.text for _, question in batch]) @ vectors.T
        best = similarities.argmax(axis=1)
        for (key, question), row, nearest in zip(batch, similarities, best, strict=True):
            if row[nearest] < bound:
                similarity, test = round(float(row[nearest]), 4), distinct_tests[nearest].id
                far.append(Far(question.line, times[key], similarity, test))
        done += len(batch)
        progress(done, len(different))
    n_far, n_compared = sum(question.times for question in far), len(traffic.questions)
    return Likeness(
        asked=traffic.of,
        looked_at=n_compared,
        different=len(different),
        tests=len(distinct_tests),
        bound=bound,
        expected=expected,
        far=tuple(
            sorted(far, key=lambda question: (-question.times, question.similarity, question.line))
        ),
        far_share=n_far / n_compared,
        interval=mean_interval([1.0] * n_far + [0.0] * (n_compared - n_far)),
    )


def _measure_bound(vectors: Vectors) -> tuple[float | None, float]:
    """Return the bound, and the share of questions like these that would be under it."""
    if len(vectors) < 2:
        return None, 0.0
    number = min(len(vectors), _MAX_MEASURED)
    rows = np.linspace(0, len(vectors) - 1, number).astype(np.int64)
    nearest: list[float] = []
    for batch in batched(rows.tolist(), _BATCH_QUESTIONS):
        similarities = vectors[batch] @ vectors.T
        similarities[np.arange(len(batch)), batch] = -np.inf
        nearest += similarities.max(axis=1).tolist()
    k = max(1, int(_FAR_SHARE * (number + 1)))
    return sorted(nearest)[k - 1], k / (number + 1)


def _report_nearness(result: Likeness, embedder: str) -> Finding:
    subject = numbers.count(result.looked_at, "question") + " people asked"
    if result.looked_at < result.asked:
        of = f"of the {result.asked:,} questions people asked"
        subject = f"{result.looked_at:,}, chosen by chance, {of}"
    subject += f" ({result.different:,} different)"
    if result.bound is None:
        text = f"{subject}: one test question is too few to say what is near"
        return Finding("traffic", "note", text)
    interval, low, high = "", result.interval.low, result.interval.high
    if low is not None and high is not None:
        interval = f" ({100 * low:.1f} to {numbers.percent(high)})"
    text = (
        f"{numbers.percent(result.far_share)}{interval} of {subject} have no test question near, "
        f"which is a cosine of {result.bound:.2f} by {embedder}; of questions like the test's own "
        f"{numbers.percent(result.expected)} would have none"
    )
    if result.far_share <= max(_WARNING_SHARE, 2 * result.expected):
        return Finding("traffic", "note", text)
    lines = tuple(f"line {question.line}" for question in result.far[:MAX_EXAMPLES])
    remedy = "write test questions like those that `validate --deep --traffic FILE` lists"
    return Finding("traffic", "warning", text, remedy, lines)
