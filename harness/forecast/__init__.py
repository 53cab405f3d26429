"""What a run has still to do before anything is spent: work, time and money, after the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import oracle
from harness.asked_models import model_of
from harness.cache import Cache
from harness.chat import ChatModel
from harness.chat_replies import ChatReplies
from harness.forecast import sizes, speed, verdicts
from harness.forecast.counted import Answers, filled
from harness.forecast.counting import Counting
from harness.forecast.known import Known, NotThere
from harness.forecast.named import has_files
from harness.forecast.pace import READ, Pace, of_answers, of_replies
from harness.forecast.sampled import about_chunks
from harness.forecast.sizes import Size
from harness.forecast.work import Calls, Cut, Embedding, Forecast
from harness.index import Collected
from harness.judging import TRIES
from harness.kept import Asked, Judgements
from harness.metrics import Batched
from harness.prepared import Prepared
from harness.stages import Progress, Stages

__all__ = ["Calls", "Cut", "Embedding", "Forecast", "forecast"]


def forecast(
    prepared: Prepared,
    deep: bool,
    making: Cache | None = None,
    collection: Collected | None = None,
    fresh: bool = False,
    progress: Progress = lambda work, done, total: None,
) -> Forecast:
    """Return what a run has still to do; nothing is kept, and no chat model asked.

    Unless `deep`, nothing is looked at that needs a model's files: no library of models is loaded,
    and what they would have to name counts as still to do. With `deep` documents are cut, by
    `making`, the run's own cache, where there is one, and a few texts are embedded where nothing
    tells how long they take.

    Raises:
        HarnessError: a model or a chunker cannot be used.
    """
    config = prepared.config
    with Known(config.cache, making, deep, fresh) as known:
        questions = prepared.testset.questions
        stages = Stages(prepared.corpus, known, prepared.plan, questions, progress, collection)
        searched = config.settings.index.existing is None or collection is not None
        counting = Counting(prepared, stages, known, deep, searched)
        counting.count()
        calls = [
            *_wordings(counting, known),
            *_answers(counting, known),
            *_verdicts(counting, known, stages),
        ]
        return Forecast(
            documents=len(prepared.corpus.documents),
            cuts=_cuts(prepared, stages, counting, searched, deep),
            embeddings=list(_embeddings(counting, deep)),
            pairs=counting.pairs,
            pairs_exact=counting.exact_pairs,
            calls=calls,
            told=list(_told(prepared, stages, deep)),
            unlooked=counting.unlooked or (not deep and bool(config.systems)),
            currency=None if config.prices is None else config.prices.line.currency,
            ranked=counting.ranked,
            scoring=_scored_by_models(prepared),
        )


def _cuts(
    prepared: Prepared, stages: Stages, counting: Counting, searched: bool, deep: bool
) -> list[Cut]:
    found: list[Cut] = []
    names = {cell.chunker: str(cell.labels()["chunker"]) for cell in prepared.config.cells}
    for chunker, name in names.items():
        if not searched or not (deep or not has_files(chunker)):
            found.append(Cut(name, None))
            continue
        try:
            found.append(Cut(name, len(stages.chunks(chunker))))
        except NotThere:
            found.append(Cut(name, *about_chunks(prepared.corpus, chunker)))
    return found


def _embeddings(counting: Counting, deep: bool) -> Iterator[Embedding]:
    for embedder, made in counting.texted.items():
        texts = len(made.chunks) + made.unkept
        asked = len(made.questions) + made.more
        took = 0.0 if not embedder.kept else None
        if deep and embedder.kept and texts:
            took = speed.seconds(embedder, made.some, sum(made.chunks.values()), texts)
        sent = sum(made.sent.values(), made.besides)
        prices = counting.prepared.config.prices
        yield Embedding(
            embedder=made.name,
            chunks=None if made.unknown else texts,
            questions=asked,
            exact=not made.more,
            seconds=took,
            model=made.model,
            tokens=Pace().tokens_in(sent),
            most=sent.most,
            price=None if prices is None or made.model is None else prices.of(made.model),
        )


def _wordings(counting: Counting, known: Known) -> Iterator[Calls]:
    for chat, wanted in counting.wordings.items():
        every = list(wanted.values())
        looked = counting.looked(_Asking(chat))
        replies = ChatReplies(known, chat) if looked else None
        missing = every if replies is None else replies.missing(every)
        pace = Pace() if replies is None else of_replies(replies.some(READ))
        sent = sizes.of_all(each.prompt for each in missing)
        yield _calls(counting, "reworded questions", chat, len(missing), True, sent, pace)


def _answers(counting: Counting, known: Known) -> Iterator[Calls]:
    from harness import kept

    settings = counting.settings
    pairs = oracle.wanted(counting.questions, settings) if settings.oracle else []
    for answers in counting.answers.values():
        chat = model_of(answers.generator)
        assert chat is not None
        extra = {(text, read, 0): None for text, read in pairs}
        asked = [*answers.asked, *(each for each in extra if each not in answers.asked)]
        looked = counting.looked(answers.generator)
        rows = kept.Answers(known, answers.generator) if looked else None
        there = set() if rows is None else rows.get(asked).keys()
        pace = Pace() if rows is None else of_answers(rows.some(READ))
        new = [each for each in answers.asked if each not in there]
        sent = _sent(answers, new) + answers.each * answers.more
        count, exact = len(new) + answers.more, not answers.more
        yield _calls(counting, "answers", chat, count, exact, sent, pace)
        if pairs:
            new = [each for each in asked if each not in answers.asked and each not in there]
            sent = _sent(answers, new)
            yield _calls(counting, "oracle answers", chat, len(new), True, sent, pace)


def _sent(answers: Answers, asked: Sequence[Asked]) -> Size:
    return sizes.of_all(filled(answers.generator, text, read) for text, read, _ in asked)


def _verdicts(counting: Counting, known: Known, stages: Stages) -> Iterator[Calls]:
    found = verdicts.wanted(counting, stages, counting.prepared.plan.metrics)
    for judge, wanted in found.items():
        looked = counting.looked(_Asking(judge))
        rows = Judgements(known, judge) if looked else None
        there = set() if rows is None else rows.get(list(wanted.prompts)).keys()
        new = [each for each in wanted.prompts if each not in there]
        pace = Pace() if rows is None else of_replies(rows.some(READ))
        once = {each: sizes.of(each) for each in new}
        expected = sum(once.values(), wanted.each * wanted.more)
        # What could not be read is not kept, so that each cell asks for it again.
        again = sum((size * wanted.prompts[each] for each, size in once.items()), Size())
        most = again + wanted.each * wanted.most
        asked = sum(wanted.prompts[each] for each in new) + wanted.most
        exact = not wanted.most
        count = len(new) + wanted.most
        sent = Size(expected.about, most.most * TRIES)
        likely = len(new) + wanted.more
        yield _calls(counting, "verdicts", judge, count, exact, sent, pace, likely, asked * TRIES)


def _calls(
    counting: Counting,
    purpose: str,
    chat: ChatModel,
    count: int,
    exact: bool,
    sent: Size,
    pace: Pace,
    likely: int | None = None,
    requests: int | None = None,
) -> Calls:
    prices = counting.prepared.config.prices
    expected = count if likely is None else likely
    out = pace.out(expected)
    return Calls(
        purpose=purpose,
        model=chat.shown,
        likely=expected,
        most=count,
        exact=exact,
        tokens_in=pace.tokens_in(sent),
        most_in=sent.most,
        tokens_out=expected * chat.max_tokens if out is None else out,
        most_out=(count if requests is None else requests) * chat.max_tokens,
        guessed=out is None,
        seconds=None if pace.seconds is None else expected * pace.seconds / chat.at_once,
        price=None if prices is None else prices.of(chat.shown),
    )


def _scored_by_models(prepared: Prepared) -> list[str]:
    """Return the metrics that run models of their own."""
    named = prepared.plan.metrics
    return [each.name for each in named if isinstance(each.metric, Batched)]


def _told(prepared: Prepared, stages: Stages, deep: bool) -> Iterator[tuple[str, int]]:
    """Yield how many questions each system of the user's own has still to be asked."""
    questions = prepared.testset.questions
    for own in prepared.config.systems:
        if own.system.imported:
            continue
        kept = stages.told(own) if deep else None
        there = {} if kept is None else kept.get(questions)
        yield own.name, len(questions) - len(there)


class _Asking:
    """A chat model in the place of a component that asks it."""

    name = "chat"

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def asked_model(self) -> ChatModel:
        return self._chat
