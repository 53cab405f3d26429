"""What can only be checked once the data is read: labels, needs, and what may decide."""

from __future__ import annotations

from collections.abc import Iterator

from harness.config import RunConfig
from harness.corpus import Corpus
from harness.errors import ConfigError, DataError, Problem, suggest
from harness.labels import has
from harness.metrics import Metric
from harness.plan import Plan
from harness.records import Question
from harness.relevance import folded, occurs
from harness.scoring import GOLD, Named, label_of, with_run_settings
from harness.testset import Testset

_COMPARABLE = frozenset({"hit_rate", "mrr"})
"""May rank cells of different chunkers, though they judge each index's own chunks."""


def plan(config: RunConfig, testset: Testset) -> Plan:
    """Return the run's plan: labels chosen, metrics told which they judge by.

    Raises:
        ConfigError: no kind of label serves, or a metric needs what the test set does not have.
    """
    labels = config.settings.labels or next(iter(testset.labels()), None)
    if labels is None:
        what = "no kind of label is on every answerable question of the test set"
        hint = "name the one to judge by: `labels: evidence`, or documents, answer, keywords"
        raise ConfigError(config.shown, [Problem("labels", what, hint)])
    level = config.settings.relevance_level
    metrics = [
        Named(each.name, with_run_settings(each.metric, labels, level)) for each in config.metrics
    ]
    problems = [
        *_unmet(metrics, testset),
        *_twins(metrics),
        *_undecidable(config, metrics),
    ]
    if problems:
        raise ConfigError(config.shown, problems)
    return Plan(config.settings, metrics, labels)


def own_chunks(metric: Metric) -> bool:
    """Return whether a metric counts the chunks of its cell's own index as the relevant items."""
    labels = label_of(metric)
    return labels is not None and labels != "documents"


def within_chunker(metric: Metric) -> bool:
    """Return whether a metric says nothing between cells of different chunkers.

    Where it counts its own index's chunks, two overlapping chunks with the same passage are two
    relevant items. Hit rate and MRR look for the first of them only, and are excepted.
    """
    return own_chunks(metric) and metric.name not in _COMPARABLE


def strings(testset: Testset, corpus: Corpus, plan: Plan, path: str) -> None:
    """Raise `DataError` for keywords, and answers judged by, that occur nowhere in the corpus."""
    texts = [folded(document.text) for document in corpus.documents.values()]
    problems = [
        Problem(
            f"question {question.id!r}",
            f"the {kind} {each!r} occurs nowhere in the corpus",
            "correct it, or take it out",
        )
        for question in testset.questions
        if question.answerable
        for kind, each in _matched(question, plan)
        if not any(occurs(each, text) for text in texts)
    ]
    if problems:
        raise DataError(path, problems)


def _matched(question: Question, plan: Plan) -> Iterator[tuple[str, str]]:
    yield from (("keyword", each) for each in question.keywords)
    if "answer" in plan.kinds:
        yield from (("answer", each) for each in question.answers)


def _unmet(metrics: list[Named], testset: Testset) -> Iterator[Problem]:
    for named in metrics:
        wanted = {GOLD[need] for need in named.metric.needs if need in GOLD}
        judged_by = label_of(named.metric)
        for kind in sorted(wanted | ({judged_by} if judged_by else set())):
            if not any(has(question, kind) for question in testset.questions):
                labels = ", ".join(testset.labels()) or "none that all questions have"
                what = f"{named.name!r} needs {kind}, and no question of the test set has any"
                yield Problem("metrics", what, f"labels there: {labels}")


def _twins(metrics: list[Named]) -> Iterator[Problem]:
    for at, named in enumerate(metrics):
        twin = next((each.name for each in metrics[:at] if each.metric == named.metric), None)
        if twin is not None:
            what = f"{named.name!r} is the same metric as {twin!r} under these labels"
            yield Problem("metrics", what, "take one of them out")


def _undecidable(config: RunConfig, metrics: list[Named]) -> Iterator[Problem]:
    if len({cell.chunker for cell in config.cells}) < 2 or config.settings.decide_by is None:
        return
    by = next(each.metric for each in metrics if each.name == config.settings.decide_by)
    if within_chunker(by):
        suitable = [each.name for each in metrics if not within_chunker(each.metric)]
        what = (
            f"decide_by: {config.settings.decide_by!r} counts each index's own chunks, and this "
            "grid has several chunkers"
        )
        yield Problem("decide_by", what, suggest("passage_recall@5", suitable))
