"""Reads the data of a configuration, and holds the configuration against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness import corpus as corpora
from harness import testset as testsets
from harness.chunkers.given_spans import Spans
from harness.config import gate_rules
from harness.config.grid import RunPlan
from harness.config.resolved import RunConfig
from harness.corpus import Corpus
from harness.errors import (
    ConfigError,
    DataError,
    HarnessError,
    InputError,
    Problem,
    join_errors,
)
from harness.metrics import Metric
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

_MAX_QUICK_BYTES = 50_000_000
"""Bytes of data that are read though the configuration is not valid."""
_SLOW_SUFFIXES = (".pdf", ".docx", ".pptx")


def read_data(config: RunConfig, fresh: bool = False) -> tuple[Corpus, Testset]:
    """Read corpus and test set; `fresh` converts every document again.

    Where the corpus cannot be read, the test set is held against what there is of it.

    Raises:
        InputError: with everything that is wrong with either.
    """
    try:
        corpus = corpora.load(config.corpus, config.cache, fresh)
    except DataError as error:
        readable = Corpus({}, "", is_partial=True)
        with suppress(DataError, TypeError):  # a reader of somebody's own may have no such field
            skipping = replace(config.corpus, on_error="skip")  # type: ignore[type-var]
            readable = replace(corpora.load(skipping, config.cache), is_partial=True)
        try:
            testsets.load(config.testset, readable)
        except DataError as second_error:
            raise join_errors([error, second_error]) from None
        raise
    return corpus, testsets.load(config.testset, corpus)


def find_data_problems(config: RunConfig, wrong: AbstractSet[str]) -> list[Problem]:
    """Return what is wrong with the data of a configuration that is not valid itself.

    `wrong` are its keys that hold something that is not valid. Unless one of them names the data,
    the data are held against the keys that are valid. A corpus that takes long to read is not read:
    nobody waits for the first message.
    """
    try:
        if "testset" in wrong:
            if "corpus" not in wrong and _reads_quickly(Path(config.corpus.path)):
                corpora.load(config.corpus, config.cache)
        elif not _reads_quickly(Path(config.testset.path)):
            return []
        elif "corpus" in wrong or not _reads_quickly(Path(config.corpus.path)):
            testsets.load(config.testset, Corpus({}, "", is_partial=True))
        else:
            corpus, testset = read_data(config)
            build_plan(config, testset, corpus)
    except ConfigError as error:
        return list(error.problems)
    except InputError as error:
        return error.named_problems()
    except (HarnessError, OSError):
        return []  # a library is missing, say: that is reported once the configuration is valid
    return []


def _reads_quickly(path: Path) -> bool:
    """Return whether files take seconds at most: not many bytes, and none to be converted."""
    size = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        size += file.stat().st_size if file.is_file() else 0
        if size > _MAX_QUICK_BYTES or file.suffix.lower() in _SLOW_SUFFIXES:
            return False
    return True


def build_plan(config: RunConfig, testset: Testset, corpus: Corpus) -> RunPlan:
    """Return the run's plan: labels chosen, metrics with the labels that they judge by.

    Raises:
        InputError: a metric needs what the test set does not have, spans do not fit the corpus, or
            a keyword occurs nowhere in it, and is asked for by name.
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
    errors: list[InputError] = []
    problems = list(_DataChecks(config, metrics, testset, labels).find_problems(chosen))
    if problems:
        errors.append(ConfigError(config.shown, problems))
    for chunker in dict.fromkeys(cell.chunker for cell in config.cells):
        if isinstance(chunker, Spans):
            try:
                chunker.check(corpus.documents)
            except DataError as error:
                errors.append(error)
    absent = search.absent("keywords") if "keywords" in _kinds_asked_for(config) else frozenset()
    if keyword_problems := list(_check_keywords(questions, absent)):
        errors.append(DataError(config.testset.path, keyword_problems))
    if errors:
        raise join_errors(errors)
    plan = RunPlan(config.settings, metrics, labels)
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


def _gold_needs(metric: Metric) -> set[Label]:
    """Return the kinds of label that a metric cannot do without."""
    return {LABEL_OF_NEED[need] for need in metric.needs if need in LABEL_OF_NEED}


def _kinds_asked_for(config: RunConfig) -> set[Label | None]:
    """Return the kinds of label that the configuration names, or that a metric of it needs."""
    parts = [part for named in config.metrics for part in leaf_metrics(named.metric)]
    needs = {kind for part in parts for kind in _gold_needs(part)}
    return {config.settings.labels, *needs, *map(label_of, parts)}


def _check_keywords(questions: Sequence[Question], absent: AbstractSet[str]) -> Iterator[Problem]:
    """Yield the keywords that occur nowhere in the corpus."""
    for question in questions:
        for keyword in question.keywords:
            if keyword in absent:
                message = f"the keyword {keyword!r} occurs nowhere in the corpus"
                yield Problem(f"question {question.id!r}", message, "correct it, or take it out")


@dataclass(frozen=True)
class _DataChecks:
    """Holds a configuration against its data; `metrics` know which labels they judge by."""

    config: RunConfig
    metrics: Sequence[NamedMetric]
    testset: Testset
    labels: Label

    def find_problems(self, chosen: Label | None) -> Iterator[Problem]:
        """Yield what does not fit; `chosen` None: no question has a label that serves."""
        config = self.config
        if self.testset.labels():  # else nothing is scored, which is no mistake
            asked_for = config.metrics if chosen is None else self.metrics
            yield from self._find_unmet_needs(asked_for, chosen)
        for index, named in enumerate(self.metrics):
            same = (other for other in self.metrics[:index] if other.metric == named.metric)
            if (twin := next(same, None)) is not None:
                message = f"{named.name!r} is the same metric as {twin.name!r} under these labels"
                yield Problem(config.where("metrics", index), message, "take one of them out")
        chunkers = max(len({cell.chunker for cell in config.cells}), len(config.systems))
        specific = {
            named.name for named in self.metrics if is_chunker_specific(named.metric, self.labels)
        }
        if chunkers > 1 and config.metrics and config.decide_by in specific:
            yield self._explain_decide_by(specific)
        if config.settings.gate is not None:
            segments = [(q.category, q.difficulty) for q in self.testset.questions]
            yield from gate_rules.find_data_problems(
                config.settings.gate, specific, chunkers, segments, config.where
            )

    def _find_unmet_needs(
        self, metrics: Sequence[NamedMetric], chosen: Label | None
    ) -> Iterator[Problem]:
        """Yield the metrics that nothing can be scored by."""
        for index, named in enumerate(metrics):
            parts = leaf_metrics(named.metric, chosen)
            kinds = {kind for part in parts for kind in (*_gold_needs(part), label_of(part))}
            for kind in sorted(kind for kind in kinds if kind is not None):
                if not any(has_label(question, kind) for question in self.testset.questions):
                    message = (
                        f"{named.name!r} needs {kind}, and no question of the test set has any"
                    )
                    hint = f"labels there: {', '.join(self.testset.labels())}"
                    yield Problem(self.config.where("metrics", index), message, hint)

    def _explain_decide_by(self, specific: AbstractSet[str]) -> Problem:
        message = (
            f"{self.config.decide_by!r} counts each index's own chunks, and this grid has several "
            "chunkers"
        )
        if self.config.settings.decide_by is None:
            message += "; the first metric decides where none is named"
        suitable = [named.name for named in self.metrics if named.name not in specific]
        hint = "add a metric that may, such as passage_recall@5 or recall(labels=documents)@5"
        if suitable:
            hint = f"name one of: {', '.join(suitable)}"
        return Problem(self.config.where("decide_by"), message, hint)
