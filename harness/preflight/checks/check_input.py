"""What a check is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from harness.cache.folders import Cache
from harness.fingerprint import identity_of
from harness.index import Collections
from harness.protocols import Chunker, Embedder
from harness.records import Question
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs
from harness.text import numbers
from harness.text.escaping import make_printable

MAX_EXAMPLES = 5
"""Ids that a finding names, at most."""
_MAX_QUICK_CHUNKS = 50_000
"""Chunks up to which a run reads them all before it begins."""
_SETTINGS_KEYS = {"seed", "clusters", "answer_test", "min_overlap", "relevance_level", "labels"}
"""The keys that a check may read of the part `settings`, beside labels and metrics."""

Level = Literal["error", "warning", "note"]
"""An error refuses the run; a warning is stored with it; a note is shown by `validate --deep`."""
Part = Literal["documents", "questions", "chunks", "embedders", "rerankers", "settings"]
"""What findings depend on; `settings` are labels, metrics, what they are judged by, the seed."""


@dataclass(frozen=True)
class Finding:
    """One thing that a check found: its figure in plain words, and what would put it right.

    `examples` are ids of questions, documents or cells, five at most.
    """

    check: str
    level: Level
    text: str
    remedy: str = ""
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it on one line, as it is stored with a run."""
        examples = f" ({', '.join(self.examples)})" if self.examples else ""
        return make_printable(f"{self.text}{examples}{f'; {self.remedy}' if self.remedy else ''}")

    @property
    def brief(self) -> str:
        """What was found alone, on one line."""
        return make_printable(self.text)


@dataclass(frozen=True)
class CheckInput:
    """A run to come. `collections` are the existing ones that it searches, if it searches any.

    `deep`: there is time to look at everything.
    """

    prepared: RunInputs
    artefacts: Artefacts
    cache: Cache
    collections: Collections | None
    deep: bool
    progress: Progress

    @property
    def questions(self) -> Sequence[Question]:
        """Every question of the test set, be it asked this time or not."""
        return self.prepared.whole.questions

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.prepared.config.settings.seed

    @cached_property
    def chunkers(self) -> dict[Chunker, str]:
        """What cuts the documents, with its name in reports; none for systems."""
        cells = self.prepared.config.cells
        return {cell.chunker: str(cell.labels()["chunker"]) for cell in cells}

    @cached_property
    def embedders(self) -> list[Embedder]:
        """The embedders whose vectors are searched."""
        cells = self.prepared.config.cells
        used = (cell.embedder for cell in cells if cell.retriever.uses_vectors)
        return [embedder for embedder in dict.fromkeys(used) if embedder is not None]

    @property
    def embeds(self) -> bool:
        """Whether a model embeds the chunks, which takes longer than any check."""
        return any(embedder.kept for embedder in self.embedders)

    @property
    def has_many_chunks(self) -> bool:
        """Whether reading all chunks would hold up the start of a run."""
        return any(
            len(self.artefacts.chunks(chunker)) > _MAX_QUICK_CHUNKS for chunker in self.chunkers
        )

    def part_identity(self, part: Part) -> Any:
        """Return what tells this part from another, as JSON values."""
        prepared, plan = self.prepared, self.prepared.plan
        match part:
            case "documents":
                return prepared.corpus.id
            case "questions":
                return [prepared.whole.id, len(prepared.testset.questions)]
            case "chunks":
                return self._chunk_ids
            case "embedders":
                return list(map(identity_of, self.embedders))
            case "rerankers":
                rerankers = dict.fromkeys(cell.reranker for cell in prepared.config.cells)
                return list(map(identity_of, rerankers))
        return [
            [metric.name for metric in plan.metrics],
            [plan.labels, list(plan.kinds), prepared.config.decide_by],
            prepared.config.settings.model_dump(mode="json", include=_SETTINGS_KEYS),
            None if prepared.sample is None else repr(prepared.sample.line),
        ]

    @cached_property
    def _chunk_ids(self) -> list[list[str]]:
        return [
            [name, self.artefacts.chunks(chunker).id, self.artefacts.hit_chunks(chunker).id]
            for chunker, name in self.chunkers.items()
        ]


@dataclass(frozen=True)
class Check:
    """A check: `find` yields what it finds, nothing where all is well.

    `reads` is what its findings depend on, so that they are kept until that changes; None: they are
    not kept. `is_expensive` tells whether it takes too long for the start of a run.
    """

    name: str
    find: Callable[[CheckInput], Iterator[Finding]]
    reads: tuple[Part, ...] | None
    is_expensive: Callable[[CheckInput], bool] = lambda run: False


def level_of_share(part: int, total: int, warning_share: float) -> Level:
    """Return `warning` where `part` is more than such a share of `total`, else `note`."""
    return "warning" if part > warning_share * total else "note"


def describe_share(part: int, total: int, noun: str, more: str = "") -> str:
    """Return `3 of 20 chunks (15.0 %)`, with `more` said of the chunks."""
    share = numbers.percent(part / total)
    return f"{part:,} of {numbers.count(total, noun)}{more} ({share})"
