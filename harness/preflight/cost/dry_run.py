"""Walks over the cells of a run as its loop does, asks nobody, and counts what the cache lacks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness import index
from harness.cache.folders import Cache
from harness.chunkers import hit_chunker
from harness.config.grid import Cell
from harness.config.resolved import embedding_model, model_of
from harness.embedders.vector_cache import CachedEmbedder
from harness.files.batches import batched
from harness.fingerprint import fingerprint, identity_of
from harness.metrics.judge import MAX_TRIES, MeanVerdictMetric
from harness.metrics.named_metrics import NamedMetric
from harness.models.chat import ChatModel
from harness.models.chat_replies import ChatReplies
from harness.preflight.cost.planned_calls import CallCount, Embedding, TokenCount, estimate
from harness.protocols import Chunker, Embedder, TextKind
from harness.ranking import context
from harness.records import Answer, Case, Chunk, Failure, Hit, Question, Score, Span
from harness.retrievers import ChatRetriever
from harness.runs.artefacts import Artefacts
from harness.runs.cell import AnswerCalls, CellSubject, QuestionState
from harness.runs.loop import BATCH_QUESTIONS
from harness.runs.oracle.oracle_run import oracle_subjects
from harness.runs.oracle.oracle_scores import select_answer_metrics
from harness.runs.result_tables import AnswerRequest, JudgeReplyTable, TimedRanking
from harness.runs.run_inputs import RunInputs
from harness.text import words

_RERANKERS_WITH_FILES = ("cross_encoder", "langchain")
"""Rerankers that are named by a model's files, or by the user's code."""
_EXPECTED_STATEMENTS = 3
"""Statements that an answer is expected to have, where none is kept."""
_MIN_STATEMENT_TOKENS = 8
"""Tokens of the shortest statements: a reply has no more of them than fit its length."""
_MAX_ANSWER_WORDS = 256
"""Words of an answer that is not known and that no model gives."""
_BYTES_PER_TOKEN = 4
"""Bytes that each token of a reply not yet written is taken to have: few have more."""
_MAX_REPLIES_READ = 200
"""Kept replies that are looked at, at most."""
_BATCH_CHUNKS = 1_024
"""Chunks whose texts are in memory at once."""

Known = Mapping[AnswerRequest, Answer | None]
"""The answers that are kept."""


@dataclass
class DryRun:
    """Counts each thing once, however many cells share it.

    Unless `deep`, no model's files are looked at: what is named by them counts as not kept, and so
    do rankings unless what is `searched` is known, which a collection is once it was read.
    """

    inputs: RunInputs
    artefacts: Artefacts
    cache: Cache
    deep: bool
    searched: bool
    embeddings: dict[Embedder, Embedding] = field(default_factory=dict)
    calls: dict[Hashable, CallCount] = field(default_factory=dict)
    pairs: dict[Hashable, int] = field(default_factory=dict)
    """Pairs of question and chunk to be reranked, by cell and question."""
    pairs_exact: bool = True
    ranked: bool = True
    unlooked: bool = False
    _longest: dict[Chunker, str] = field(default_factory=dict)

    def walk(self) -> None:
        """Go through the cells, and through what the oracle asks."""
        plan, cells, questions = self.inputs.plan, self.inputs.config.cells, self._questions
        judged = _judge_metrics(plan.metrics)
        # Rankings are long, and say nothing where no model reads them.
        reads_rankings = bool(judged) or any(
            cell.reranker.name != "none" or model_of(cell.generator) is not None for cell in cells
        )
        indexed: set[Hashable] = set()
        for cell in cells:
            if cell.retriever.uses_vectors and (cell.chunker, cell.embedder) not in indexed:
                indexed.add((cell.chunker, cell.embedder))
                self._count_chunks(cell)
            subject = _DryCell(cell, self.artefacts, plan)
            subject.run, subject.reads_rankings = self, reads_rankings
            for batch in batched(questions, BATCH_QUESTIONS):
                self._count_asked("answers", subject, subject.prepare(batch), judged)
        if plan.settings.oracle:
            level = plan.settings.relevance_level
            judged = _judge_metrics(select_answer_metrics(plan.metrics, plan.labels, level))
            for oracle in oracle_subjects(cells, questions, plan, self.artefacts):
                self._count_asked("oracle answers", oracle, oracle.prepare(questions), judged)

    @property
    def _questions(self) -> Sequence[Question]:
        return self.inputs.testset.questions

    def can_look_up(self, *parts: Any) -> bool:
        """Return whether parts of a cell can be named in the cache without a model's files."""
        possible = self.deep or not any(map(_has_files, parts))
        self.unlooked |= not possible
        return possible

    def has_chunks(self, chunker: Chunker) -> bool:
        """Return whether the chunks that a chunker makes are known."""
        return self.searched and self.can_look_up(chunker, hit_chunker(chunker))

    def count_searches(self, cell: Cell, questions: Sequence[Question]) -> None:
        """Count what it takes to retrieve these: rewordings by a model, and vectors."""
        self.ranked = False
        texts, retriever = [question.text for question in questions], cell.retriever
        rewordings, size = dict[Hashable, int](), TokenCount()
        if isinstance(retriever, ChatRetriever):
            chat = retriever.asked_model()
            calls = self._calls("reworded questions", chat, chat)
            requests = retriever.requests(texts)
            if self.can_look_up(chat):
                replies = ChatReplies(self.cache, chat)
                requests = replies.missing(requests)
                calls.replies = calls.replies or replies.some(_MAX_REPLIES_READ)
            for request in requests:
                calls.add((hash(request.prompt), request.sample), request.prompt)
            rewordings = {(retriever, text): retriever.n for text in texts}
            usual = estimate(max(texts, key=_byte_length)).about
            size = TokenCount(usual, _BYTES_PER_TOKEN * chat.max_tokens) * retriever.n
        if retriever.uses_vectors and cell.embedder is not None:
            work = self._embedding(cell, cell.embedder)
            work.sent += size * len(rewordings.keys() - work.rewordings)
            work.rewordings |= rewordings
            self._count_texts(work, work.question_keys, cell.embedder, texts, "query")

    def _count_chunks(self, cell: Cell) -> None:
        """Count the chunks of a cell that have no vector, unless its index is there."""
        embedder, settings = cell.embedder, self.inputs.plan.settings.index
        assert embedder is not None
        work = self._embedding(cell, embedder)
        if settings.existing is not None:
            return
        if not self.has_chunks(cell.chunker):
            work.unknown = True
            if work.model is not None:
                for document in self.inputs.corpus.documents.values():
                    work.sent += estimate(document.text)
            return
        chunks = self.artefacts.chunks(cell.chunker)
        if self.can_look_up(embedder):
            identity = index.index_identity(chunks.id, embedder, settings)
            if self.cache.there(index.KIND, identity):
                return
        for batch in batched((chunk.indexed_text for chunk in chunks), _BATCH_CHUNKS):
            self._count_texts(work, work.chunk_keys, embedder, batch, "document")

    def _count_texts(
        self,
        work: Embedding,
        counted: set[int],
        embedder: Embedder,
        texts: Sequence[str],
        kind: TextKind,
    ) -> None:
        missing: Iterable[str] = texts
        if embedder.kept and self.can_look_up(embedder):
            missing = CachedEmbedder(embedder, self.cache).missing(texts, kind)
        for text in missing:
            # Chunks whose vectors are not kept are embedded each, though two be the same text.
            key = hash(text) if embedder.kept or kind == "query" else len(counted)
            if work.model is not None and key not in counted:
                work.sent += estimate(text)
            counted.add(key)

    def _embedding(self, cell: Cell, embedder: Embedder) -> Embedding:
        if embedder not in self.embeddings:
            model, prices = embedding_model(embedder), self.inputs.config.prices
            name = model or str(cell.labels()["embedder"])
            price = None if prices is None or model is None else prices.price_of(model)
            self.embeddings[embedder] = Embedding(name, embedder.kept, model, price)
        return self.embeddings[embedder]

    def _count_asked(
        self,
        purpose: str,
        subject: AnswerCalls,
        states: Sequence[QuestionState],
        judged: Sequence[MeanVerdictMetric],
    ) -> None:
        """Count the answers that are not kept, and the verdicts on them."""
        generator: Any = subject.cell.generator
        known: Known = {}
        if generator.answers and (judged or model_of(generator) is not None):
            known = self._count_answers(purpose, subject, states)
        for metric in judged:
            cases = _cases(metric, subject.cell, states, known)
            self._count_verdicts(metric, subject.cell, cases)

    def _count_answers(
        self, purpose: str, subject: AnswerCalls, states: Sequence[QuestionState]
    ) -> Known:
        """Count the answers that are not kept, and return those that are."""
        generator: Any = subject.cell.generator
        chat, look_up = model_of(generator), self.can_look_up(generator)
        requests = [request for state in states for request in state.requests]
        stored = subject.known(requests) if look_up else {}
        known = {request: result.answer for request, result in stored.items()}
        if chat is None:
            return known
        # Generators whose answers are the same share them, and the oracle's with those of cells.
        key = fingerprint(identity_of(generator)) if look_up else repr(generator)
        counted = self._calls("answers", chat, key).prompts
        calls = self._calls(purpose, chat, key)
        if look_up and not calls.replies:
            timed = [row for row in subject.answers.some(_MAX_REPLIES_READ) if row.answer]
            calls.seconds = [row.seconds for row in timed]
            calls.replies = [row.answer for row in timed if row.answer is not None]
        for request in requests:
            if request not in known and (purpose == "answers" or hash(request) not in counted):
                calls.add(hash(request), generator.filled(*request[:2]))
        unknown = [state.question.text for state in states if state.failure is not None]
        if unknown:
            longest = max(unknown, key=_byte_length)
            read = self._longest_context(subject.cell.chunker)
            cut, _ = words.cut(read, self.inputs.plan.settings.context.tokens)
            most = estimate(generator.filled(longest, read)).most
            usual = estimate(generator.filled(longest, cut)).about
            number = len(unknown) * generator.repeat
            calls.add_unknown(number, number, TokenCount(usual, most))
        return known

    def _count_verdicts(
        self,
        metric: MeanVerdictMetric,
        cell: Cell,
        cases: Iterable[tuple[Question, Case | None]],
    ) -> None:
        """Count what a judge is asked about these; of a case that is not known yet, the most."""
        assert metric.judge is not None
        calls = self._calls("verdicts", metric.judge, metric.judge, MAX_TRIES)
        likely, most = 1, 1
        if metric.name == "faithfulness":
            likely, most = _EXPECTED_STATEMENTS, _max_statements(cell.generator)
        prompts: list[str] = []
        for question, case in cases:
            items = metric.items(case or self._largest_case(question, cell))
            for item in [] if isinstance(items, Score) else items:
                if case is None:
                    calls.add_unknown(likely, most, estimate(item.prompt))
                else:
                    prompts.append(item.prompt)
        kept: Iterable[str] = ()
        if self.can_look_up(metric.judge):
            table = JudgeReplyTable(self.cache, metric.judge)
            kept = table.get(prompts).keys()
            calls.replies = calls.replies or table.some(_MAX_REPLIES_READ)
        for prompt in prompts:
            if prompt not in kept:
                calls.add(hash(prompt), prompt)

    def _calls(self, purpose: str, chat: ChatModel, key: Hashable, tries: int = 1) -> CallCount:
        return self.calls.setdefault((purpose, key), CallCount(purpose, chat, tries))

    def _largest_case(self, question: Question, cell: Cell) -> Case:
        """Return a case as large as any can be, of which only sizes mean anything."""
        longest, chat = self._longest_chunk(cell.chunker), model_of(cell.generator)
        retrieve = self.inputs.plan.settings.retrieve
        hits = (Hit(Chunk(0, Span("", 0, 0), longest), 0.0),) * retrieve
        n_words = _MAX_ANSWER_WORDS if chat is None else chat.max_tokens
        answer = Answer(f"{'x' * (_BYTES_PER_TOKEN - 1)} " * n_words)
        return Case(question, hits, context=self._longest_context(cell.chunker), answer=answer)

    def _longest_chunk(self, chunker: Chunker) -> str:
        """Return the longest text that a hit can have; a document, where chunks are not known."""
        if chunker not in self._longest:
            texts = (document.text for document in self.inputs.corpus.documents.values())
            if self.has_chunks(chunker):
                texts = (chunk.text for chunk in self.artefacts.hit_chunks(chunker))
            self._longest[chunker] = max(texts, key=_byte_length)
        return self._longest[chunker]

    def _longest_context(self, chunker: Chunker) -> str:
        bounds = self.inputs.plan.settings.context
        text, _ = words.cut(self._longest_chunk(chunker), bounds.tokens)
        return context.SEPARATOR.join([text] * bounds.chunks)


class _DryCell(CellSubject):
    """A cell that searches nothing: a question whose ranking is not kept has failed here."""

    run: DryRun
    reads_rankings: bool

    def prepare(self, questions: Sequence[Question]) -> list[QuestionState]:
        """Read the rankings that are kept, and cut the contexts."""
        cell, run = self.cell, self.run
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        states = [QuestionState(question) for question in questions]
        if not run.has_chunks(cell.chunker) or not run.can_look_up(cell.retriever, embedder):
            self.retrieve(states)
            return states
        if self.reads_rankings:
            return super().prepare(questions)
        kept = self.artefacts.rankings(cell).stored_ids(questions)
        self.retrieve([state for state in states if state.question.id not in kept])
        return []

    def retrieve(self, states: Sequence[QuestionState]) -> dict[str, TimedRanking]:
        """Count what it takes."""
        if states:
            self.run.count_searches(self.cell, [state.question for state in states])
            self._count_pairs(states, self.plan.settings.retrieve)
            self.run.pairs_exact &= self.cell.reranker.name == "none"
        return {}

    def rerank(
        self, states: Sequence[QuestionState]
    ) -> Iterator[tuple[QuestionState, TimedRanking]]:
        """Count the pairs."""
        self._count_pairs(states)
        return iter(())

    def _rerank(self, states: Sequence[QuestionState]) -> None:
        if self.run.can_look_up(self.cell.reranker):
            super()._rerank(states)
        else:
            self._count_pairs(states)

    def _count_pairs(self, states: Sequence[QuestionState], most: int | None = None) -> None:
        cell = self.cell
        for state in states:
            state.failure = Failure("retrieval", "its ranking is not kept")
            if cell.reranker.name != "none":
                key = (cell.chunker, cell.embedder, cell.retriever, cell.reranker)
                pairs = len(state.candidates) if most is None else most
                self.run.pairs[*key, state.question.id] = pairs


def _judge_metrics(metrics: Iterable[NamedMetric]) -> list[MeanVerdictMetric]:
    found = [named.metric for named in metrics if isinstance(named.metric, MeanVerdictMetric)]
    return [metric for metric in found if metric.judge is not None]


def _cases(
    metric: MeanVerdictMetric, cell: Cell, states: Sequence[QuestionState], known: Known
) -> Iterator[tuple[Question, Case | None]]:
    """Yield a case for each answer to be judged; None where it is not known yet."""
    needs_answer = "answer" in getattr(metric, "needs", ())
    for state in states:
        question, read = state.question, state.context
        if not question.answerable or (needs_answer and not cell.generator.answers):
            continue
        if read is None:  # the oracle asks nothing where there is no evidence
            number = 0 if state.failure is None else cell.generator.repeat
            yield from [(question, None)] * number
            continue
        for request in state.requests or [(question.text, read, 0)]:
            if needs_answer and request not in known:
                yield question, None
            else:
                answer = known.get(request)
                yield question, Case(question, state.hits, context=read, answer=answer)


def _has_files(part: Any) -> bool:
    """Return whether the identity of a component, or of a chat model, needs a model's files."""
    chat = part if isinstance(part, ChatModel) else model_of(part)
    return (
        (chat is not None and chat.file is not None)
        or any(getattr(part, key, None) is not None for key in ("tokenizer", "embedder"))
        or getattr(part, "kept", False)
        or getattr(part, "name", "") in _RERANKERS_WITH_FILES
    )


def _max_statements(generator: Any) -> int:
    """Return how many statements an answer can have."""
    chat = model_of(generator)
    if chat is None:
        return int(getattr(generator, "sentences", 1))
    return max(1, -(-chat.max_tokens // _MIN_STATEMENT_TOKENS))


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
