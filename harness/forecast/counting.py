"""A run to come, cell by cell: what of it is kept, and what is still to be asked and embedded."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness import context, index
from harness.asked_models import embedding_model, model_of
from harness.batches import batched
from harness.chat import ChatModel
from harness.chunkers import Chunker, handed
from harness.embedders import Embedder
from harness.fingerprint import fingerprint, identity_of
from harness.forecast import sizes
from harness.forecast.counted import Answers, Final, Texted, filled
from harness.forecast.known import Known, NotThere
from harness.forecast.named import has_files
from harness.forecast.recorded import wordings
from harness.forecast.room import Room, length, room
from harness.forecast.sizes import Size
from harness.metrics import Asking as Judged
from harness.prepared import Prepared
from harness.records import Hit, Question
from harness.rephrasing import Wanted
from harness.retrievers import Asking
from harness.stages import Stages
from harness.sweep import Cell
from harness.vectors import Texts

BYTES = 4
"""Bytes that each token of a reply not yet written is taken to have: few have more."""
_SOME = 40
_READ = 1_024
"""Chunks whose texts are in memory at once."""


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
        self.ranked = True
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
        self._rooms: dict[Chunker, Room] = {}
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
        chunks = None
        if self.looked(cell.chunker, embedder):
            with suppress(NotThere):
                chunks = self._stages.chunks(cell.chunker)
        if chunks is None:
            made.unknown = True
            if made.model is not None:
                documents = self.prepared.corpus.documents.values()
                made.besides += sizes.of_all(each.text for each in documents)
            return
        if self._known.there(index.KIND, index.about(chunks.id, embedder, self.settings.index)):
            return
        if not embedder.kept:
            made.unkept += len(chunks)
            return
        texts = Texts(embedder, self._known)
        for some in batched((each.indexed_text for each in chunks), _READ):  # never all at once
            missing = texts.missing(some, "document")
            made.some += list(missing.values())[: _SOME - len(made.some)]
            made.chunks |= {key: len(text) for key, text in missing.items()}
            self._read_by(made, missing)

    def _made(self, cell: Cell) -> Texted:
        assert cell.embedder is not None
        if cell.embedder not in self.texted:
            model = embedding_model(cell.embedder)
            name = model or str(cell.labels()["embedder"])
            self.texted[cell.embedder] = Texted(name, model=model)
        return self.texted[cell.embedder]

    def _read_by(self, made: Texted, texts: Mapping[bytes, str]) -> None:
        if made.model is not None:
            made.sent |= {key: sizes.of(text) for key, text in texts.items()}

    def room(self, chunker: Chunker) -> Room:
        """Return texts as long as those that reach a model; without the chunks a guess."""
        if chunker not in self._rooms:
            texts = (each.text for each in self.prepared.corpus.documents.values())
            if self._searched and self.looked(chunker, handed(chunker)):
                with suppress(NotThere):
                    texts = (each.text for each in self._stages.handed(chunker))
            bounds = self.settings.context
            self._rooms[chunker] = room(texts, bounds.chunks, bounds.tokens)
        return self._rooms[chunker]

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
        self.ranked &= not new
        written = self._rewording(cell, new)
        if cell.retriever.uses_vectors and cell.embedder is not None and new:
            made = self._made(cell)
            made.more += written
            texts = [each.text for each in new]
            if self.looked(cell.embedder):
                missing = Texts(cell.embedder, self._known).missing(texts, "query")
            else:
                missing = {text.encode("utf-8", "replace"): text for text in texts}
            made.questions |= missing.keys()
            self._read_by(made, missing)
            chat = model_of(cell.retriever)
            if made.model is not None and chat is not None:
                usual = sizes.of(max(texts, key=length))
                made.besides += Size(usual.about, BYTES * chat.max_tokens) * written
        return found

    def _rewording(self, cell: Cell, new: Sequence[Question]) -> int:
        """Count what a retriever asks a model; return how many texts it will search for, at most.

        The questions themselves are not among them.
        """
        retriever = cell.retriever
        if not isinstance(retriever, Asking) or not new:
            return 0
        found = wordings(retriever, [each.text for each in new])
        chat = retriever.asked_model()
        asked = self.wordings.setdefault(chat, {})
        asked |= {(each.prompt, each.sample): each for each in found}
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
            longest, most = max(unknown, key=length), self.room(cell.chunker)
            sent = sizes.of(filled(cell.generator, longest, most.context)).most
            usual = sizes.of(filled(cell.generator, longest, most.usual)).about
            answers.each = answers.each.or_more(Size(usual, sent))

    def _name(self, generator: Any) -> str:
        """Return what tells generators apart whose answers are not the same."""
        if self.looked(generator):
            return fingerprint(identity_of(generator))
        return repr(generator)


def _reads(cell: Cell) -> bool:
    """Return whether a model reads what is retrieved in a cell."""
    return cell.reranker.name != "none" or model_of(cell.generator) is not None
