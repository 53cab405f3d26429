"""The library: score any question-answering system on test cases given as dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from harness import user_code
from harness.errors import DataError, HarnessError, Problem, suggest
from harness.files import json_lines
from harness.files.json_lines import JsonLine
from harness.metrics import metrics as registry
from harness.metrics import named_metrics
from harness.metrics.named_metrics import usual_name
from harness.ranking.relevance import choose_labels
from harness.records import Case, Label, Question
from harness.registry import parse
from harness.runs import scoring
from harness.runs.evaluation import Evaluation, aggregate_all
from harness.runs.user_function import RagSystem, ask, count_repeated
from harness.store.dataframes import is_frame
from harness.testset import Note
from harness.testset.csv_questions import Csv
from harness.testset.jsonl_questions import (
    QuestionRow,
    build_question,
    describe_problems,
    rename_keys,
)
from harness.text import numbers

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

Cases: TypeAlias = "str | Path | Iterable[Mapping[str, Any]] | DataFrame"
DEFAULT_METRICS = ("hit_rate", "precision", "recall", "mrr", "ndcg", "token_f1", "abstention")


def evaluate(
    rag_system: RagSystem,
    cases: Cases,
    metrics: str | Sequence[str] = DEFAULT_METRICS,
    k: int | Sequence[int] = (1, 3, 5),
    labels: Label | None = None,
    seed: int = 7,
) -> Evaluation:
    """Ask a system every question and score what it retrieves and says.

    Args:
        rag_system: called with a question, and awaited where it is an `async def`; returns
            (documents, answer), or a mapping or an object with both, or an answer alone. A
            document is a text, a mapping with `id` and `text`, or an object with `page_content`
            (LangChain's). A plain text serves as its own id. The answer is a text or a chat
            model's message; None says that none is given: metrics of answers are then not
            scored. An empty text is an answer, one that declines.
        cases: dictionaries with `question` and any of `id`, `documents` (ids, ids with grades, or
            pairs of both), `answer` or `answers`, `keywords`, `category`, `answerable`; or a
            pandas frame with these columns; or the path of a .jsonl or .csv file.
        metrics: names; one that takes a cut-off and gives none is computed at every `k`.
        k: the cut-offs, or one.
        labels: what makes a document relevant; by default the first of documents, keywords and
            answer that every answerable case has, else the one that most have. Cases without it
            are not scored by metrics of rankings.
        seed: of metrics that draw.

    An exception in `rag_system` fails its question: recorded with its message, counted as 0 in
    `mean` and left out of `mean_finished`. What is returned a second time is left out, and counted
    in the notes.

    Raises:
        DataError: a case is not usable; all of them are named.
        SpecError: a metric is unknown.
        HarnessError: the system returned something else than documents and an answer.
    """
    if not callable(rag_system):
        swapped = "; the cases come second" if callable(cases) else ""
        kind = type(rag_system).__name__
        raise HarnessError(f"evaluate(system, cases): the system is a {kind}, no function{swapped}")
    cuts = [k] if isinstance(k, int) else k
    questions = _parse_questions(cases)
    chosen = labels or choose_labels(questions) or "documents"
    if chosen == "evidence":
        hint = "name documents, answer or keywords; `run` judges by evidence, in a corpus"
        raise DataError("cases", [Problem("labels", "evidence needs a corpus", hint)])
    with user_code.importing(Path()):
        selected = [
            named_metrics.build_metric(spec, chosen)
            for name in ([metrics] if isinstance(metrics, str) else metrics)
            for spec in (_at_each_cutoff(name, cuts) if _takes_k(name) else [name])
        ]
    selected = named_metrics.fit_metrics(selected, questions, seed)
    answered = [ask(rag_system, question) for question in questions]
    rows = scoring.score_all(selected, answered, chosen)
    scores = {case.question.id: row for case, row in zip(answered, rows, strict=True)}
    means = aggregate_all(selected, scores)
    return Evaluation(means, scores, chosen, notes=_notes(answered, chosen))


def _takes_k(name: str) -> bool:
    """Return whether a metric has a cut-off and none was given."""
    base, parameters = parse(usual_name(name))
    takes = {field.name for field in fields(registry[base]) if field.init}  # type: ignore[arg-type]
    return "k" in takes and not {"k", "budget"} & set(parameters)


def _at_each_cutoff(name: str, k: Sequence[int]) -> list[str]:
    return [f"{name}@{cut}" for cut in k]


def _notes(cases: Iterable[Case], chosen: Label) -> tuple[str, ...]:
    repeats = [count for case in cases if (count := count_repeated(case, chosen))]
    if not repeats:
        return ()
    text = f"{numbers.count(sum(repeats), 'document')} returned a second time"
    return (f"{text}, in {numbers.count(len(repeats), 'question')}: left out",)


def _read_cases(cases: Cases) -> Iterator[Mapping[str, Any] | Problem]:
    if isinstance(cases, str | Path):
        rows = Csv(str(cases)).rows() if Path(cases).suffix.lower() in (".csv", ".tsv") else None
        for row in json_lines.rows(Path(cases)) if rows is None else rows:
            if not isinstance(row, Note):
                yield row if isinstance(row, Problem) else row.data
    elif is_frame(cases):
        for record in cases.to_dict("records"):
            yield {
                str(key): value.tolist() if hasattr(value, "tolist") else value
                for key, value in record.items()
                if value is not None and value == value
            }
    else:
        yield from cases  # type: ignore[misc]


def _parse_questions(cases: Cases) -> tuple[Question, ...]:
    questions: dict[str, Question] = {}
    problems: list[Problem] = []
    for number, data in enumerate(_read_cases(cases), start=1):
        if isinstance(data, Problem):
            problems.append(data)
            continue
        row = JsonLine(number, rename_keys(data)[0])
        try:
            checked = QuestionRow.model_validate(row.data)
        except ValidationError as error:
            row_problems = describe_problems(row, error)
            problems += [
                Problem(f"case {number}", problem.what, problem.hint) for problem in row_problems
            ]
            continue
        id_ = checked.id if checked.id is not None else str(number)
        if checked.evidence:
            hint = "use documents, answer or keywords; `run` judges by evidence, in a corpus"
            problems.append(Problem(f"case {number}", "evidence needs a corpus", hint))
        elif id_ in questions:
            problems.append(Problem(f"case {number}", f"the id {id_!r} is taken", "make it unique"))
        else:
            questions[id_] = build_question(id_, checked, ())
    if not questions and not problems:
        problems.append(Problem("cases", "there is none", suggest("", ["question", "answer"])))
    if problems:
        raise DataError("cases", problems)
    return tuple(questions.values())
