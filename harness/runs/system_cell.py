"""Runs the cell of an external system: ask, match its contexts, judge, score. Never writes.

Its reply is stored as soon as it arrives; where a context stands is looked up each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.config.grid import RunPlan, SystemCell
from harness.models.concurrency import CallResult
from harness.ranking.relevance import Relevance, fold
from harness.records import (
    Answer,
    Attribution,
    Case,
    Chunk,
    Failure,
    Hit,
    Outcome,
    Question,
    Span,
    Stage,
)
from harness.runs import loop, scoring
from harness.runs.artefacts import Artefacts
from harness.runs.attribution import SpanLists, attribute, find_evidence_sentence
from harness.runs.outcomes import make_outcome
from harness.runs.result_tables import TimedReply
from harness.systems.reply import RetrievedText, SystemReply, join_contexts
from harness.text import spans
from harness.text.align import CorpusMatcher, Match, MatchCounts
from harness.text.decline_patterns import is_decline
from harness.text.sentences import find_sentences
from harness.text.words import normalise


def system_outcomes(
    cell: SystemCell,
    questions: Iterable[Question],
    artefacts: Artefacts,
    plan: RunPlan,
    report: loop.Report = lambda question, failure: None,
) -> Iterator[tuple[Outcome, list[Chunk]]]:
    """Yield the outcome of each question that a system is asked; see `loop.outcomes`."""
    subject = _SystemSubject(cell, artefacts, plan)
    return loop.outcomes(subject, questions, artefacts.ledger.timed, report, plan.asks_judge)


SystemResult = CallResult[str, SystemReply]


@dataclass
class _AskedQuestion(loop.Asked[str, SystemReply]):
    """A question that a system is asked once, by its id."""

    @property
    def reply(self) -> SystemReply:
        """Its reply; nothing where that failed."""
        return self.replies[self.question.id].answer or SystemReply()


class _SystemSubject:
    """One system, and what its replies so far hold; all that they may hold until the first one.

    A question that fails has failed for the metrics that apply to the others, and no more.
    """

    stage = "asking"

    def __init__(self, cell: SystemCell, artefacts: Artefacts, plan: RunPlan) -> None:
        self.at_once = cell.system.concurrent
        self._cell = cell
        self._artefacts = artefacts
        self._plan = plan
        self._table = artefacts.system_replies(cell)
        self._questions: dict[str, Question] = {}
        self._any = self._contexts = self._answers = False

    def prepare(self, questions: Sequence[Question]) -> list[_AskedQuestion]:
        """Note what each question is."""
        self._questions |= {question.id: question for question in questions}
        return [_AskedQuestion(question, (question.id,)) for question in questions]

    def known(self, requests: Sequence[str]) -> Mapping[str, SystemResult]:
        """Return the replies that are kept; one without an answer is asked for again."""
        if self._table is None:
            return {}
        replies = self._table.get([self._key(id_) for id_ in requests])
        stored = {id_: timed for (id_, _), timed in replies.items()}
        for timed in stored.values():
            self._hear(timed.reply)
        return {
            id_: CallResult(id_, timed.reply, None, timed.seconds)
            for id_, timed in stored.items()
            if self._is_usable(timed.reply)
        }

    def answer_one(self, request: str) -> SystemReply:
        """Ask the system."""
        return self._cell.system.ask(request, self._questions[request].text)

    def keep(self, result: SystemResult) -> None:
        """Keep a new reply, unless it lacks an answer."""
        reply = result.answer
        if self._table is not None and reply is not None and self._is_usable(reply):
            self._table.put({self._key(result.key): TimedReply(reply, result.seconds)})

    def _key(self, request: str) -> tuple[str, str]:
        return request, self._questions[request].text

    def end(self, asked: _AskedQuestion) -> None:
        """Fail a question without a reply, or without an answer where others have one."""
        failure = asked.replies[asked.question.id].failure
        if failure is not None:
            asked.failure = Failure("retrieval", failure)
        else:
            self._hear(asked.reply)
            self._judge(asked)

    def score(self, batch: Sequence[_AskedQuestion]) -> Iterator[tuple[Outcome, list[Chunk]]]:
        """Find the contexts in the corpus, and score."""
        artefacts, plan, cell = self._artefacts, self._plan, self._cell
        timed, test = artefacts.ledger.timed, plan.settings.answer_test
        stage: Stage = "generation" if cell.system.tells_answers else "retrieval"
        for asked in batch:  # once more, as it is known by now that others have an answer
            self._judge(asked)
        with timed("matching"):
            cases = [self._build_case(asked) for asked in batch]
        with timed("scoring"):
            level = plan.settings.relevance_level
            scores = scoring.score_all(plan.metrics, cases, plan.labels, level, artefacts.scores)
        for asked, case, row in zip(batch, cases, scores, strict=True):
            lost = attribute_system(case, asked.reply.sent, test.passed(case), test.keywords)
            seconds = {stage: asked.replies[asked.question.id].seconds}
            yield make_outcome(cell.name, case, row, plan.labels, seconds=seconds, attribution=lost)

    def _hear(self, reply: SystemReply) -> None:
        self._any = True
        self._contexts |= reply.contexts is not None
        self._answers |= reply.answer is not None or reply.lacking is not None

    def _is_usable(self, reply: SystemReply) -> bool:
        """Return whether it is no failure: one without an answer is, of a system that answers."""
        return reply.answer is not None or (reply.lacking is None and not self._answers)

    def _judge(self, asked: _AskedQuestion) -> None:
        if asked.failure is None and not self._is_usable(asked.reply):
            lacking = asked.reply.lacking or "none, and there is one to other questions"
            asked.failure = Failure("generation", f"no answer: {lacking}")

    def _build_case(self, asked: _AskedQuestion) -> Case:
        plan, reply, question = self._plan, asked.reply, asked.question
        matcher, counts = self._artefacts.matcher, self._artefacts.match_counts(self._cell)
        retrieved = reply.contexts or ()
        hits = match_hits(retrieved, matcher, plan.settings.retrieve, counts, question.id)
        judge = Relevance.of_ranking(hits, plan.settings.min_overlap, plan.absent_answers)
        ranked = reply.contexts is not None
        nothing = asked.failure is not None and asked.failure.stage == "retrieval"
        answer = None
        if reply.answer is not None:
            declined = reply.declined
            if declined is None:
                declined = is_decline(reply.answer, plan.settings.decline_patterns)
            answer = Answer(reply.answer, declined, reply.tokens_in, reply.tokens_out, reply.model)
        may_rank = self._contexts if self._any else self._cell.system.tells_contexts
        may_answer = self._answers if self._any else self._cell.system.tells_answers
        return Case(
            question,
            hits,
            judge.judge(question, hits, plan.kinds) if ranked or (nothing and may_rank) else {},
            join_contexts(reply.contexts) if reply.sent is None else reply.sent,
            answer,
            asked.failure,
            judge.keywords(question, hits) if ranked and "keywords" in plan.kinds else (),
            touching=None,
            ranked=may_rank if nothing else ranked,
            answers=answer is not None or may_answer,
        )


def match_hits(
    contexts: Sequence[RetrievedText],
    matcher: CorpusMatcher,
    limit: int,
    counts: MatchCounts,
    question: str,
) -> tuple[Hit, ...]:
    """Return contexts as hits where they stand in the corpus, at most `limit` of them, each once.

    One that stands nowhere is a hit too, in a place that no passage shares a character with.
    """
    scores = [context.score for context in contexts]
    hits: dict[Span, Hit] = {}
    for rank, context in enumerate(contexts):
        if len(hits) >= limit:
            break
        score = scores[rank] if None not in scores else -float(rank)
        assert score is not None
        places = _find_places(context, matcher)
        counts.add(places, context.text, question)
        for place in places:
            span = (
                place.span if isinstance(place, Match) else _place_outside(context, place, matcher)
            )
            text = matcher.text(span) if isinstance(place, Match) else place
            counts.repeated += span in hits
            hits.setdefault(span, Hit(Chunk(len(hits), span, text), score))
    return tuple(hits.values())[:limit]


def _find_places(context: RetrievedText, matcher: CorpusMatcher) -> list[Match | str]:
    """Return where a context stands; as text, what of it stands nowhere."""
    doc = _find_document(context, matcher)
    if not context.text:
        whole = None if doc is None else Span(doc, 0, matcher.length(doc))
        return ["" if whole is None else Match(whole, "exact")]
    match = matcher.find(context.text, doc, context.start)
    if match is not None:
        return [match]
    parts = matcher.find_parts(context.text, doc)
    return parts if any(isinstance(part, Match) for part in parts) else [normalise(context.text)]


def _find_document(context: RetrievedText, matcher: CorpusMatcher) -> str | None:
    return next((doc for name in context.ids if (doc := matcher.find_document(name))), None)


def _place_outside(context: RetrievedText, text: str, matcher: CorpusMatcher) -> Span:
    """Return a place for a text that has none: behind its document's end, or in none there is.

    The same text has the same place, and another one another.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    doc = _find_document(context, matcher)
    start = (0 if doc is None else matcher.length(doc) + 1) + int(digest[:7], 16)
    unknown = context.ids[0] if context.ids else f"unmatched:{digest}"
    return Span(unknown if doc is None else doc, start, start + len(text))


def attribute_system(
    case: Case, sent: str | None, answered: bool | None, by_keywords: bool = True
) -> Attribution:
    """Return where the answer was lost, and which sentence held it.

    All that the system retrieved counts. How it cuts its documents and how it searches them is not
    known: what it did not retrieve is lost at `retrieval`.

    Args:
        case: its reply.
        sent: the text that it says its model was sent; None where it says nothing of that.
        answered: whether its answer is right; None where nothing says what would be.
        by_keywords: whether that was decided by keywords where the question has them.
    """
    if not case.ranked:
        return Attribution()
    retrieved = [hit.chunk.span for hit in case.hits]
    read = None if sent is None else fold(sent)
    prompt = retrieved if read is None else _passages_sent(case, read)
    lost_at, arrivals = attribute(case, SpanLists(retrieved, prompt), answered, case.answers)
    sentence = find_evidence_sentence(case.question, _sent_parts(case, read), by_keywords)
    return Attribution(lost_at, arrivals, held_in=sentence)


def _sent_parts(case: Case, sent: str | None) -> Iterator[tuple[Span, str]]:
    """Yield what was retrieved; of what was `sent`, those sentences that stand in it."""
    for hit in case.hits:
        place, text = hit.chunk.span, hit.chunk.text
        if sent is None:
            yield place, text
            continue
        for start, end in find_sentences(text):
            if fold(text[start:end]) in sent:
                yield Span(place.doc, place.start + start, place.start + end), text[start:end]


def _passages_sent(case: Case, sent: str) -> Sequence[Span]:
    """Return those parts of passages that were retrieved whose text stands in what was sent."""
    parts: list[Span] = []
    for hit in case.hits:
        start = hit.chunk.span.start
        for passage in case.question.passages:
            for part in spans.intersect(hit.chunk.span, [passage.span]):
                if fold(hit.chunk.text[part.start - start : part.end - start]) in sent:
                    parts.append(part)
    return parts
