"""A system's cell to outcomes: ask it, find its contexts in the corpus, judge, score. Never writes.

What it told is kept as soon as it is there; where a context stands is looked up each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial

from harness import calls, scoring
from harness.attribution_systems import attribution
from harness.batches import batched
from harness.corpus import normalised
from harness.declines import is_decline
from harness.matching import Counts, Found, Matcher
from harness.plan import Plan
from harness.records import Answer, Case, Chunk, Failure, Hit, Outcome, Question, Span, Stage
from harness.stages import Stages
from harness.sweep import SystemCell
from harness.system_replies import Reply, SystemReplies
from harness.systems import System
from harness.told import Context, Told, joined
from harness.unindexed import Unindexed

_BATCH = 256
"""How many questions are scored together; each reply is kept at once."""


def outcomes(
    cell: SystemCell,
    questions: Iterable[Question],
    stages: Stages,
    plan: Plan,
    told: Callable[[str, Failure | None], None] = lambda question, failure: None,
) -> Iterator[Outcome]:
    """Yield the outcome of each question that a system is asked, in order.

    A `StageError` becomes the failure of its question; any other error ends the run, once what had
    been told by then has been yielded. `told` is given each question that is answered, at once, or
    failed; what it raises ends the run too.
    """
    timed, level = stages.ledger.timed, plan.settings.relevance_level
    heard = _Heard(cell.system)
    for batch in batched(questions, _BATCH):
        asked = {question.id: _Asked(question) for question in batch}
        stopped: BaseException | None = None
        with timed("asking"):
            try:
                with closing(_told(cell.system, asked, stages.told(cell), heard)) as done:
                    for each in done:
                        told(each.question.id, each.failure)
            except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001  it is raised below
                stopped = error
        ended = [each for each in asked.values() if each.reply is not None]
        for each in ended:
            each.judge(heard)
        with timed("matching"):
            cases = [
                _case(each, heard, stages.matcher, stages.matched(cell), plan) for each in ended
            ]
        with timed("scoring"):
            scores = scoring.score_all(plan.metrics, cases, plan.labels, level, stages.scores)
        for each, case, row in zip(ended, cases, scores, strict=True):
            assert each.reply is not None
            stage: Stage = "generation" if cell.system.tells_answers else "retrieval"
            test = plan.settings.answer_test
            lost = attribution(case, each.reply.told.sent, test.passed(case), test.keywords)
            seconds: Mapping[Stage, float] = {stage: each.reply.seconds}
            yield Outcome(cell.name, case, row, seconds=seconds, attribution=lost)
        if stopped is not None:
            raise stopped


class _Heard:
    """What a system tells, as far as it has been heard; what it may tell until then.

    A question that fails has failed for the metrics that apply to the others, and no more.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._any = self._contexts = self._answers = False

    def hear(self, told: Told) -> None:
        self._any = True
        self._contexts |= told.contexts is not None
        self._answers |= told.answer is not None or told.lacking is not None

    @property
    def contexts(self) -> bool:
        return self._contexts if self._any else self._system.tells_contexts

    @property
    def answers(self) -> bool:
        return self._answers if self._any else self._system.tells_answers

    def usable(self, told: Told) -> bool:
        """Return whether it is no failure: one without an answer is, of a system that answers."""
        return told.answer is not None or (told.lacking is None and not self._answers)


class _Asked:
    """A question, and what became of it."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.reply: Reply | None = None
        self.failure: Failure | None = None

    def end(self, reply: Reply, heard: _Heard, failure: str | None = None) -> _Asked:
        self.reply = reply
        if failure is not None:
            self.failure = Failure("retrieval", failure)
        else:
            heard.hear(reply.told)
        self.judge(heard)
        return self

    def judge(self, heard: _Heard) -> None:
        """Fail a question without an answer; once more when it is known that others have one."""
        if self.failure is None and self.reply is not None and not heard.usable(self.reply.told):
            lacking = self.reply.told.lacking or "none, and there is one to other questions"
            self.failure = Failure("generation", f"no answer: {lacking}")


def _told(
    system: System, asked: dict[str, _Asked], kept: SystemReplies | None, heard: _Heard
) -> Generator[_Asked, None, None]:
    """Ask all that is not known yet, and yield each question as soon as it has ended."""
    known = {} if kept is None else kept.get([each.question for each in asked.values()])
    for reply in known.values():
        heard.hear(reply.told)
    known = {id_: reply for id_, reply in known.items() if heard.usable(reply.told)}
    for id_, reply in known.items():
        yield asked[id_].end(reply, heard)

    def keep(done: calls.Done[str, Told]) -> None:
        if kept is not None and done.answer is not None and heard.usable(done.answer):
            kept.put(asked[done.key].question, Reply(done.answer, done.seconds))

    new = [each.question for id_, each in asked.items() if id_ not in known]
    wanted = ((each.id, partial(system.ask, each.id, each.text)) for each in new)
    with closing(calls.done(wanted, system.concurrent, keep)) as finished:
        for done in finished:
            reply = Reply(done.answer or Told(), done.seconds)
            yield asked[done.key].end(reply, heard, done.failure)


def _case(asked: _Asked, heard: _Heard, matcher: Matcher, counts: Counts, plan: Plan) -> Case:
    assert asked.reply is not None
    said, question = asked.reply.told, asked.question
    hits = hits_of(said.contexts or (), matcher, plan.settings.retrieve, counts, question.id)
    judge, ranked = Unindexed(plan.settings.min_overlap), said.contexts is not None
    nothing = asked.failure is not None and asked.failure.stage == "retrieval"
    answer = None
    if said.answer is not None:
        declined = said.declined
        if declined is None:
            declined = is_decline(said.answer, plan.settings.decline_patterns)
        answer = Answer(said.answer, declined, said.tokens_in, said.tokens_out, said.model)
    return Case(
        question,
        hits,
        judge.judge(question, hits, plan.kinds) if ranked else {},
        joined(said.contexts) if said.sent is None else said.sent,
        answer,
        asked.failure,
        judge.keywords(question, hits) if ranked and "keywords" in plan.kinds else (),
        touching=None,
        ranked=heard.contexts if nothing else ranked,
        answers=answer is not None or heard.answers,
    )


def hits_of(
    contexts: Sequence[Context], matcher: Matcher, most: int, counts: Counts, question: str
) -> tuple[Hit, ...]:
    """Return contexts as hits where they stand in the corpus, at most `most` of them, each once.

    One that stands nowhere is a hit too, in a place that no passage shares a character with.
    """
    scores = [each.score for each in contexts]
    found: dict[Span, Hit] = {}
    for rank, context in enumerate(contexts):
        if len(found) >= most:
            break
        score = scores[rank] if None not in scores else -float(rank)
        assert score is not None
        places = _places(context, matcher)
        counts.add(places, context.text, question)
        for place in places:
            span = place.span if isinstance(place, Found) else _nowhere(context, place, matcher)
            text = matcher.text(span) if isinstance(place, Found) else place
            counts.repeated += span in found
            found.setdefault(span, Hit(Chunk(len(found), span, text), score))
    return tuple(found.values())[:most]


def _places(context: Context, matcher: Matcher) -> list[Found | str]:
    """Return where a context stands; as text, what of it stands nowhere."""
    doc = _document(context, matcher)
    if not context.text:
        whole = None if doc is None else Span(doc, 0, matcher.length(doc))
        return ["" if whole is None else Found(whole, "exact")]
    found = matcher.find(context.text, doc, context.start)
    if found is not None:
        return [found]
    parts = matcher.parts(context.text, doc)
    return parts if any(isinstance(each, Found) for each in parts) else [normalised(context.text)]


def _document(context: Context, matcher: Matcher) -> str | None:
    return next((doc for each in context.ids if (doc := matcher.document(each))), None)


def _nowhere(context: Context, text: str, matcher: Matcher) -> Span:
    """Return a place for a text that has none: behind its document's end, or in none there is.

    The same text has the same place, and another one another.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    doc = _document(context, matcher)
    start = (0 if doc is None else matcher.length(doc) + 1) + int(digest[:7], 16)
    unknown = context.ids[0] if context.ids else f"unmatched:{digest}"
    return Span(unknown if doc is None else doc, start, start + len(text))
