"""A run to come, cell by cell: what of it is kept, and what is still to be asked and embedded."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from harness import context, index, tokens
from harness.asked_models import model_of
from harness.chat import ChatModel
from harness.chunkers import Chunker, handed
from harness.embedders import Embedder
from harness.fingerprint import fingerprint, identity_of
from harness.forecast.counted import Answers, Final, Texted, filled
from harness.forecast.known import Known, NotThere
from harness.metrics import Asking as Judged
from harness.records import Hit, Question
from harness.rephrasing import Wanted
from harness.retrievers import Asking
from harness.running import Prepared
from harness.stages import Stages
from harness.sweep import Cell
from harness.vectors import Texts

_SOME = 40
_FILES = ("cross_encoder", "langchain")
"""Rerankers that are named by a model's files, or by the user's code."""


class Counting:
    """Counts what is to do, each thing once however many cells share it.

    Unless `deep`, no model's files are looked at: what is named by them counts as not kept, and so
    do rankings unless what is `searched` is known, which a collection is once it was read.
    """

    def __init__(
        self, prepared: Prepared, stages: Stages, known: Known, deep: bool, searched: bool
    ) -> None:
        self.prepared = prepared
        self.questions = prepared.testset.questions
        self.settings = prepared.config.settings
        self.texted: dict[Embedder, Texted] = {}
        self.answers: dict[str, Answers] = {}
        self.wordings: dict[ChatModel, dict[tuple[str, int], Wanted[Any]]] = {}
        self.pairs = 0
        self.exact_pairs = True
        self.unlooked = False
        self.finals: list[Final] = []
        self._stages = stages
        self._known = known
        self._deep = deep
        self._searched = searched
        # Rankings are long, and say nothing where no model reads them.
        self._read = any(map(_reads, prepared.config.cells)) or any(
            isinstance(each.metric, Judged) for each in prepared.plan.metrics
        )
        self._indexed: set[tuple[Chunker, Embedder]] = set()
        self._ranked: dict[Hashable, dict[str, tuple[Hit, ...]]] = {}
        self._reranked: dict[Hashable, dict[str, tuple[Hit, ...]]] = {}

    def count(self) -> None:
        """Go through the cells."""
        for cell in self.prepared.config.cells:
            self._embedding(cell)
            hits = self._hits(cell)
            self.finals.append(Final(cell, hits))
            self._answering(cell, hits)

    def looked(self, *parts: Any) -> bool:
        """Return whether parts of a cell can be named in the cache without a model's files."""
        found = self._deep or not any(map(has_files, parts))
        self.unlooked |= not found
        return found

    def _embedding(self, cell: Cell) -> None:
        embedder = cell.embedder
        if embedder is None or not cell.retriever.uses_vectors:
            return
        made = self._made(cell)
        if self.settings.index.existing is not None:
            return
        if (cell.chunker, embedder) in self._indexed:
            return
        self._indexed.add((cell.chunker, embedder))
        if not self.looked(cell.chunker, embedder):
            made.unknown = True
            return
        try:
            chunks = self._stages.chunks(cell.chunker)
        except NotThere:
            made.unknown = True
            return
        if self._known.there(index.KIND, index.about(chunks.id, embedder, self.settings.index)):
            return
        if not embedder.kept:
            made.unkept += len(chunks)
            return
        missing = Texts(embedder, self._known).missing(
            (each.indexed_text for each in chunks), "document"
        )
        made.some += list(missing.values())[: _SOME - len(made.some)]
        made.chunks |= {key: len(text) for key, text in missing.items()}

    def _made(self, cell: Cell) -> Texted:
        assert cell.embedder is not None
        return self.texted.setdefault(cell.embedder, Texted(str(cell.labels()["embedder"])))

    def _hits(self, cell: Cell) -> dict[str, tuple[Hit, ...]]:
        """Return the hits of each question whose ranking is kept, reranked if it is to be."""
        key = (cell.chunker, cell.embedder, cell.retriever)
        if key not in self._ranked:
            self._ranked[key] = self._rankings(cell)
        ranked = self._ranked[key]
        if cell.reranker.name == "none":
            return ranked
        whole = (*key, cell.reranker)
        if whole not in self._reranked:
            self._reranked[whole] = self._rerankings(cell, ranked)
        return self._reranked[whole]

    def _rankings(self, cell: Cell) -> dict[str, tuple[Hit, ...]]:
        """Return the kept rankings of a retriever; count what the others take."""
        found: dict[str, tuple[Hit, ...]] = {}
        parts = (cell.chunker, handed(cell.chunker), cell.retriever)
        if self._searched and self.looked(
            *parts, cell.embedder if cell.retriever.uses_vectors else None
        ):
            try:
                rankings = self._stages.rankings(cell)
                if self._read:
                    kept = rankings.get(self.questions)
                    found = {id_: self._stages.handed_over(cell, r.hits) for id_, r in kept.items()}
                else:
                    found = dict.fromkeys(rankings.there(self.questions), ())
            except NotThere:
                pass
        new = [each for each in self.questions if each.id not in found]
        written = self._rewording(cell, new)
        if cell.retriever.uses_vectors and cell.embedder is not None and new:
            made = self._made(cell)
            made.more += written
            texts = (each.text for each in new)
            if self.looked(cell.embedder):
                made.questions |= Texts(cell.embedder, self._known).missing(texts, "query").keys()
            else:
                made.questions |= {text.encode("utf-8", "replace") for text in texts}
        return found

    def _rewording(self, cell: Cell, new: Sequence[Question]) -> int:
        """Count what a retriever asks a model; return how many texts it will search for, at most.

        The questions themselves are not among them.
        """
        retriever = cell.retriever
        if not isinstance(retriever, Asking) or not new:
            return 0
        recorder = _Recorder()
        with suppress(_RecordedError):
            retriever.texts([each.text for each in new], recorder)  # type: ignore[attr-defined]
        chat = retriever.asked_model()
        asked = self.wordings.setdefault(chat, {})
        asked |= {(each.prompt, each.sample): each for each in recorder.wanted}
        return retriever.n * len(new)

    def _rerankings(
        self, cell: Cell, ranked: dict[str, tuple[Hit, ...]]
    ) -> dict[str, tuple[Hit, ...]]:
        found: dict[str, tuple[Hit, ...]] = {}
        if ranked and self.looked(cell.reranker):
            known = [each for each in self.questions if each.id in ranked]
            kept = self._stages.reranked(cell).get(known)
            found = {id_: each.hits for id_, each in kept.items()}
        for question in self.questions:
            if question.id in found:
                continue
            self.pairs += len(ranked.get(question.id, ())) or self.settings.retrieve
            self.exact_pairs &= question.id in ranked
        return found

    def _answering(self, cell: Cell, hits: dict[str, tuple[Hit, ...]]) -> None:
        if not cell.generator.answers or model_of(cell.generator) is None:
            return
        name = self._name(cell.generator)
        answers = self.answers.setdefault(name, Answers(cell.generator))
        samples, bounds = range(cell.generator.repeat), self.settings.context
        unknown: dict[str, None] = {}
        for question in self.questions:
            if question.id in hits:
                parts = context.cut(hits[question.id], bounds.chunks, bounds.tokens)
                read = context.joined(parts)
                answers.asked |= {(question.text, read, each): None for each in samples}
            else:
                unknown[question.text] = None
        answers.more += len(unknown) * len(samples)
        if unknown:
            longest = max(tokens.count(text) for text in unknown)
            bare = tokens.count(filled(cell.generator, "", ""))
            answers.words = max(answers.words, bare + longest + bounds.tokens)

    def _name(self, generator: Any) -> str:
        """Return what tells generators apart whose answers are not the same."""
        if self.looked(generator):
            return fingerprint(identity_of(generator))
        return repr(generator)


def has_files(part: Any) -> bool:
    """Return whether the identity of a component needs the files of a model."""
    if part is None:
        return False
    chat = model_of(part)
    if chat is not None and chat.file is not None:
        return True
    if any(getattr(part, key, None) is not None for key in ("tokenizer", "embedder")):
        return True
    return bool(getattr(part, "kept", False)) or part.name in _FILES


def _reads(cell: Cell) -> bool:
    """Return whether a model reads what is retrieved in a cell."""
    return cell.reranker.name != "none" or model_of(cell.generator) is not None


class _RecordedError(Exception):
    """All prompts are known; nothing is to be asked."""


class _Recorder:
    """Stands where a retriever looks for what it searches, and notes what it would ask."""

    def __init__(self) -> None:
        self.wanted: list[Wanted[Any]] = []

    def ask(self, chat: ChatModel, wanted: Iterable[Wanted[Any]]) -> NoReturn:
        self.wanted = list(wanted)
        raise _RecordedError
