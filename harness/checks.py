"""What can only be checked once the data is read: labels, needs, and what may decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from harness import rules
from harness.answer_labels import is_yes_or_no
from harness.config import RunConfig
from harness.corpus import Corpus
from harness.errors import ConfigError, DataError, Problem
from harness.labels import has
from harness.plan import Plan
from harness.records import Label, Question
from harness.relevance import Sought, folded
from harness.scoring import GOLD, Named, label_of, leaves, with_run_settings, within_chunker
from harness.testset import Testset

_TOO_COMMON = 0.05


def plan(config: RunConfig, testset: Testset) -> Plan:
    """Return the run's plan: labels chosen, metrics told which they judge by.

    Raises:
        ConfigError: no kind of label serves, or a metric needs what the test set does not have.
    """
    labels = config.settings.labels or next(iter(testset.labels()), None)
    if labels is None:
        what = "no kind of label is on every answerable question of the test set"
        hint = "name the one to judge by: `labels: evidence`, or documents, answer, keywords"
        raise ConfigError(config.shown, [Problem(config.where("labels"), what, hint)])
    level = config.settings.relevance_level
    metrics = [
        Named(each.name, with_run_settings(each.metric, labels, level)) for each in config.metrics
    ]
    problems = [
        *_unmet(config, metrics, testset, labels),
        *_twins(config, metrics),
        *_undecidable(config, metrics, labels),
        *_unjudged(config, metrics, testset, labels),
    ]
    if problems:
        raise ConfigError(config.shown, problems)
    return Plan(config.settings, metrics, labels)


def strings(testset: Testset, corpus: Corpus, plan: Plan, path: str) -> None:
    """Raise `DataError` for keywords, and answers judged by, that occur nowhere in the corpus."""
    asked = [
        (question.id, kind, each)
        for question in testset.questions
        if question.answerable
        for kind, each in _matched(question, plan)
    ]
    missing = {each for _, _, each in asked}
    sought = Sought(missing)
    for document in corpus.documents.values():
        if not missing:
            return
        missing -= set(sought.standing_in(folded(document.text)))
    problems = [
        Problem(
            f"question {id_!r}",
            f"the {kind} {each!r} occurs nowhere in the corpus",
            "correct it, or take it out",
        )
        for id_, kind, each in asked
        if each in missing
    ]
    if problems:
        raise DataError(path, problems)


def answers(testset: Testset, chunks: Iterable[str], chunker: str, path: str) -> None:
    """Raise `DataError` for answers that say nothing of relevance by standing in a chunk.

    That is yes and no, and what stands in several chunks and over 5 % of them.
    """
    asked = [(q.id, answer) for q in testset.questions if q.answerable for answer in q.answers]
    found, total = Counter[str](), 0
    sought = Sought({answer for _, answer in asked})
    for chunk in chunks:
        found.update(sought.standing_in(folded(chunk)))
        total += 1
    problems: list[Problem] = []
    for id_, answer in asked:
        if is_yes_or_no(answer):
            what = f"the answer {answer!r} cannot say which chunks are relevant"
        elif found[answer] > max(1, _TOO_COMMON * total):
            what = f"the answer {answer!r} stands in {found[answer]} of {total} chunks ({chunker})"
        else:
            continue
        hint = "judge by other labels: `labels: evidence`, documents or keywords"
        problems.append(Problem(f"question {id_!r}", what, hint))
    if problems:
        raise DataError(path, problems)


def _matched(question: Question, plan: Plan) -> Iterator[tuple[str, str]]:
    yield from (("keyword", each) for each in question.keywords)
    if "answer" in plan.kinds:
        yield from (("answer", each) for each in question.answers)


def _unmet(
    config: RunConfig, metrics: list[Named], testset: Testset, labels: Label
) -> Iterator[Problem]:
    for at, named in enumerate(metrics):
        parts = leaves(named.metric, labels)
        wanted = {GOLD[need] for part in parts for need in part.needs if need in GOLD}
        judged_by = {kind for part in parts if (kind := label_of(part))}
        for kind in sorted(wanted | judged_by):
            if not any(has(question, kind) for question in testset.questions):
                there = ", ".join(testset.labels()) or "none that all questions have"
                what = f"{named.name!r} needs {kind}, and no question of the test set has any"
                yield Problem(config.where("metrics", at), what, f"labels there: {there}")


def _twins(config: RunConfig, metrics: list[Named]) -> Iterator[Problem]:
    for at, named in enumerate(metrics):
        twin = next((each.name for each in metrics[:at] if each.metric == named.metric), None)
        if twin is not None:
            what = f"{named.name!r} is the same metric as {twin!r} under these labels"
            yield Problem(config.where("metrics", at), what, "take one of them out")


def _undecidable(config: RunConfig, metrics: list[Named], labels: Label) -> Iterator[Problem]:
    if max(len({cell.chunker for cell in config.cells}), len(config.systems)) < 2:
        return
    by = next(each.metric for each in metrics if each.name == config.decide_by)
    if within_chunker(by, labels):
        suitable = [each.name for each in metrics if not within_chunker(each.metric, labels)]
        what = (
            f"{config.decide_by!r} counts each index's own chunks, and this grid has several "
            "chunkers"
        )
        if config.settings.decide_by is None:
            what += "; the first metric decides where none is named"
        hint = "add a metric that may, such as passage_recall@5 or recall(labels=documents)@5"
        if suitable:
            hint = f"name one of: {', '.join(suitable)}"
        yield Problem(config.where("decide_by"), what, hint)


def _unjudged(
    config: RunConfig, metrics: list[Named], testset: Testset, labels: Label
) -> Iterator[Problem]:
    if config.settings.gate is None:
        return iter(())
    return rules.unjudged(
        config.settings.gate,
        {each.name for each in metrics if within_chunker(each.metric, labels)},
        max(len({cell.chunker for cell in config.cells}), len(config.systems)),
        [(question.category, question.difficulty) for question in testset.questions],
        config.where,
    )
