"""Traffic: a test set unlike the questions that people really ask."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar

from harness import numbers
from harness.cache import Cache
from harness.embedders import Embedder, embedders
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.fingerprint import sha256_of
from harness.prepared import Prepared
from harness.registry import label
from harness.rows import key_of
from harness.stages import Progress
from harness.traffic import reading
from harness.traffic.likeness import Category, Far, Lengths, Likeness, likeness
from harness.vectors import Texts

_VERSION = 1
_MANY = 0.1
"""The share of real questions with no test question near over which a run warns."""
_HOSTED = "langchain"
_NAMED = 5


@checks.register
@dataclass(frozen=True)
class Traffic:
    """Holds the test set against the file that `traffic` names, by the first embedder.

    What it finds is kept, by line and not by text: what people asked stays in their file.
    """

    name: ClassVar[str] = "traffic"
    order: ClassVar[int] = 900
    reads: ClassVar[tuple[Part, ...] | None] = None

    def dear(self, look: Look) -> bool:
        """Return False: it is asked for by naming a file, and what it finds is kept."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what is near, how long questions are, and their categories."""
        path = look.prepared.config.traffic
        if path is None:
            return
        found = compared(look.prepared, look.cache, look.deep, look.progress)
        if found is None:
            text = f"{path.name}: a hosted model embeds, so the questions were not compared"
            yield Finding(self.name, "warning", text, "run: python -m harness validate --deep")
            return
        yield _nearness(found, label(_embedder(look.prepared)))
        yield Finding(self.name, "note", _said_lengths(found.lengths))
        if found.categories:
            yield Finding(self.name, "note", _said_categories(found.categories))


def compared(
    prepared: Prepared,
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
    reading.check(path)
    embedder = _embedder(prepared)
    about = {"version": _VERSION, "testset": tests.id, "embedder": embedder.identity()}
    rows = cache.rows("traffic", about)
    key = key_of(sha256_of(path), path.suffix.lower())
    kept = rows.get([key]).get(key)
    if kept is not None:
        return _unpacked(json.loads(kept))
    if embedder.name == _HOSTED and not deep:
        return None
    texts = Texts(embedder, cache)
    found = likeness(
        reading.read(path),
        tests.questions,
        lambda some: texts.embed(some, "query")[0],
        partial(progress, "comparing the questions people ask"),
    )
    rows.put({key: json.dumps(asdict(found)).encode()})
    return found


def far(prepared: Prepared) -> list[dict[str, Any]]:
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
        found = compared(prepared, cache)
    assert found is not None
    texts = {each.line: each.text for each in reading.read(path).questions}
    # Of a file that is being written to, a line may hold another text than it did.
    return [
        {"line": each.line, "question": texts.get(each.line, ""), **_rest(each)}
        for each in found.far
    ]


def _rest(each: Far) -> dict[str, Any]:
    return {"times": each.times, "similarity": each.similarity, "nearest": each.nearest}


def _embedder(prepared: Prepared) -> Embedder:
    """Return the first embedder of the grid, and the default one where there is none."""
    used = (cell.embedder for cell in prepared.config.cells)
    found = next((each for each in used if each is not None), None)
    return found or embedders.build("sentence_transformer")


def _unpacked(data: Mapping[str, Any]) -> Likeness:
    lengths = data["lengths"]
    quartiles = {key: tuple(lengths[key]) for key in ("real", "tests")}
    return Likeness(
        **{
            **data,
            "far": tuple(Far(**each) for each in data["far"]),
            "lengths": Lengths(**{**lengths, **quartiles}),
            "categories": tuple(Category(**each) for each in data["categories"]),
        }
    )


def _nearness(found: Likeness, embedder: str) -> Finding:
    asked = numbers.count(found.looked_at, "question") + " people asked"
    if found.looked_at < found.asked:
        asked = (
            f"{found.looked_at:,}, chosen by chance, of the {found.asked:,} questions people asked"
        )
    asked += f" ({found.different:,} different)"
    if found.bound is None or found.far_share is None:
        text = f"{asked}: one test question is too few to say what is near"
        return Finding("traffic", "note", text)
    text = (
        f"{_percent(found.far_share)}{_sure(found)} of {asked} have no test question near, "
        f"which is a cosine of {found.bound:.2f} by {embedder}; of questions like the test's own "
        f"{_percent(found.expected)} would have none"
    )
    if found.far_share <= max(_MANY, 2 * found.expected):
        return Finding("traffic", "note", text)
    lines = tuple(f"line {each.line}" for each in found.far[:EXAMPLES])
    remedy = "write test questions like those that `validate --deep --traffic FILE` lists"
    return Finding("traffic", "warning", text, remedy, lines)


def _sure(found: Likeness) -> str:
    if found.far_low is None or found.far_high is None:
        return ""
    return f" ({100 * found.far_low:.1f} to {100 * found.far_high:.1f} %)"


def _said_lengths(found: Lengths) -> str:
    text = (
        f"half of the questions people ask have up to {_words(*found.real)}, "
        f"half of the test's up to {_words(*found.tests)}"
    )
    if found.p_value >= 0.05:
        return f"{text}; that they differ in length is not shown"
    how, share = ("longer", found.longer) if found.longer >= 0.5 else ("shorter", 1 - found.longer)
    return f"{text}: of a pair, the one people ask is {how} in {_percent(share)}"


def _words(low: float, median: float, high: float) -> str:
    return f"{median:g} words (the middle half {low:g} to {high:g})"


def _said_categories(found: Sequence[Category]) -> str:
    parts = [
        f"{each.name[:60]!r} {_percent(each.real)} and {_percent(each.tests)}"
        for each in found[:_NAMED]
    ]
    rest = f"; {len(found) - _NAMED} more differ less" if len(found) > _NAMED else ""
    return f"categories, of what people ask and of the test: {', '.join(parts)}{rest}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
