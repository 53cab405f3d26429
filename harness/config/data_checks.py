"""Checks a configuration against its data: labels, metric needs, and the deciding metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from harness.config import gate_rules
from harness.config.grid import RunPlan
from harness.config.run_config import RunConfig
from harness.corpus import Corpus
from harness.errors import ConfigError, DataError, Problem
from harness.metrics.named_metrics import (
    LABEL_OF_NEED,
    NamedMetric,
    is_chunker_specific,
    label_of,
    leaf_metrics,
    with_run_settings,
)
from harness.ranking.relevance import TextSearch, choose_labels, fold, has_label, is_yes_or_no
from harness.records import Label, Question
from harness.testset import Testset


def build_plan(config: RunConfig, testset: Testset, corpus: Corpus) -> RunPlan:
    """Return the run's plan: labels chosen, metrics told which they judge by.

    Raises:
        ConfigError: a metric needs what the test set does not have.
        DataError: a keyword occurs nowhere in the corpus, and is asked for by name.
    """
    questions = [question for question in testset.questions if question.answerable]
    search = _CorpusSearch(questions, corpus)
    chosen = config.settings.labels or choose_labels(questions, search.serves)
    labels: Label = chosen or "evidence"  # which no question has: nothing is scored by it
    level = config.settings.relevance_level
    metrics = [
        NamedMetric(named.name, with_run_settings(named.metric, labels, level))
        for named in config.metrics
    ]
    problems = [
        *_find_unmet_needs(config, metrics, testset, chosen),
        *_find_duplicates(config, metrics),
        *_check_decide_by(config, metrics, labels),
        *_check_gate(config, metrics, testset, labels),
    ]
    if problems:
        raise ConfigError(config.shown, problems)
    plan = RunPlan(config.settings, metrics, labels)
    if "keywords" in _kinds_asked_for(config):
        _check_keywords(questions, search.absent("keywords"), config.testset.path)
    if "answer" in plan.kinds:
        plan = replace(plan, absent_answers=search.absent("answer"))
    return plan


@dataclass(frozen=True)
class _CorpusSearch:
    """Looks for the strings of questions in the corpus, once a kind."""

    questions: Sequence[Question]
    corpus: Corpus
    _absent: dict[Label, frozenset[str]] = field(default_factory=dict)

    def absent(self, kind: Label) -> frozenset[str]:
        """Return the keywords, or the answers, that occur in no document."""
        if kind not in self._absent:
            missing = {text for question in self.questions for text in _strings(question, kind)}
            search = TextSearch(missing)
            for document in self.corpus.documents.values():
                if not missing:
                    break
                missing -= set(search.find_in(fold(document.text)))
            self._absent[kind] = frozenset(missing)
        return self._absent[kind]

    def serves(self, question: Question, kind: Label) -> bool:
        """Return whether a question can be judged by a kind of label without being asked to."""
        if not has_label(question, kind) or kind in ("evidence", "documents"):
            return has_label(question, kind)
        texts, absent = _strings(question, kind), self.absent(kind)
        if kind == "keywords":
            return absent.isdisjoint(texts)
        return any(text not in absent and not is_yes_or_no(text) for text in texts)


def _strings(question: Question, kind: Label) -> tuple[str, ...]:
    return question.keywords if kind == "keywords" else question.answers


def _kinds_asked_for(config: RunConfig) -> set[Label | None]:
    """Return the kinds of label that the configuration names, or that a metric of it needs."""
    parts = [part for named in config.metrics for part in leaf_metrics(named.metric)]
    needs = {LABEL_OF_NEED[need] for part in parts for need in part.needs if need in LABEL_OF_NEED}
    return {config.settings.labels, *needs, *map(label_of, parts)}


def _check_keywords(questions: Iterable[Question], absent: AbstractSet[str], path: str) -> None:
    """Raise `DataError` for keywords that occur nowhere in the corpus."""
    problems = [
        Problem(
            f"question {question.id!r}",
            f"the keyword {keyword!r} occurs nowhere in the corpus",
            "correct it, or take it out",
        )
        for question in questions
        for keyword in question.keywords
        if keyword in absent
    ]
    if problems:
        raise DataError(path, problems)


def _find_unmet_needs(
    config: RunConfig, metrics: list[NamedMetric], testset: Testset, labels: Label | None
) -> Iterator[Problem]:
    """Yield the metrics that nothing can be scored by; not where no question has a label at all."""
    if not testset.labels():
        return
    asked_for = config.metrics if labels is None else metrics
    for index, named in enumerate(asked_for):
        parts = leaf_metrics(named.metric, labels)
        needed = {
            LABEL_OF_NEED[need] for part in parts for need in part.needs if need in LABEL_OF_NEED
        }
        judged_by = {kind for part in parts if (kind := label_of(part))}
        for kind in sorted(needed | judged_by):
            if not any(has_label(question, kind) for question in testset.questions):
                available = ", ".join(testset.labels())
                message = f"{named.name!r} needs {kind}, and no question of the test set has any"
                yield Problem(config.where("metrics", index), message, f"labels there: {available}")


def _find_duplicates(config: RunConfig, metrics: list[NamedMetric]) -> Iterator[Problem]:
    for index, named in enumerate(metrics):
        twin = next((other.name for other in metrics[:index] if other.metric == named.metric), None)
        if twin is not None:
            message = f"{named.name!r} is the same metric as {twin!r} under these labels"
            yield Problem(config.where("metrics", index), message, "take one of them out")


def _check_decide_by(
    config: RunConfig, metrics: list[NamedMetric], labels: Label
) -> Iterator[Problem]:
    if max(len({cell.chunker for cell in config.cells}), len(config.systems)) < 2:
        return
    decider = next(named.metric for named in metrics if named.name == config.decide_by)
    if is_chunker_specific(decider, labels):
        suitable = [
            named.name for named in metrics if not is_chunker_specific(named.metric, labels)
        ]
        message = (
            f"{config.decide_by!r} counts each index's own chunks, and this grid has several "
            "chunkers"
        )
        if config.settings.decide_by is None:
            message += "; the first metric decides where none is named"
        hint = "add a metric that may, such as passage_recall@5 or recall(labels=documents)@5"
        if suitable:
            hint = f"name one of: {', '.join(suitable)}"
        yield Problem(config.where("decide_by"), message, hint)


def _check_gate(
    config: RunConfig, metrics: list[NamedMetric], testset: Testset, labels: Label
) -> Iterator[Problem]:
    if config.settings.gate is None:
        return iter(())
    return gate_rules.find_data_problems(
        config.settings.gate,
        {named.name for named in metrics if is_chunker_specific(named.metric, labels)},
        max(len({cell.chunker for cell in config.cells}), len(config.systems)),
        [(question.category, question.difficulty) for question in testset.questions],
        config.where,
    )
