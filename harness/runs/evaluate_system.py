"""The library: score any question-answering system on test cases given as dictionaries."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
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
from harness.ranking.context import SEPARATOR
from harness.ranking.relevance import (
    choose_labels,
    fold,
    is_yes_or_no,
    judge_by_documents,
    occurs,
)
from harness.records import Answer, Case, Chunk, Failure, Hit, Judged, Label, Question, Span
from harness.registry import parse
from harness.runs import scoring
from harness.runs.evaluation import Evaluation, aggregate_all
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
from harness.text.decline_patterns import is_decline

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

Cases: TypeAlias = "str | Path | Iterable[Mapping[str, Any]] | DataFrame"
RagSystem = Callable[[str], Any]
"""Takes a question; returns the documents it retrieved, best first, and its answer."""
_REPLY_KEYS = (
    ("documents", "contexts", "context", "source_documents", "retrieved_contexts"),
    ("answer", "result", "response", "output"),
)
"""What the documents and the answer of a mapping or an object are called."""
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
    answered = [_ask(rag_system, question) for question in questions]
    rows = scoring.score_all(selected, answered, chosen)
    scores = {case.question.id: row for case, row in zip(answered, rows, strict=True)}
    means = aggregate_all(selected, scores)
    unread = named_metrics.describe_unread(named_metrics.count_unread(selected, rows))
    return Evaluation(means, scores, chosen, notes=(*_notes(answered, chosen), *unread))


def _takes_k(name: str) -> bool:
    """Return whether a metric has a cut-off and none was given."""
    base, parameters = parse(usual_name(name))
    takes = {field.name for field in fields(registry[base]) if field.init}  # type: ignore[arg-type]
    return "k" in takes and not {"k", "budget"} & set(parameters)


def _at_each_cutoff(name: str, k: Sequence[int]) -> list[str]:
    return [f"{name}@{cut}" for cut in k]


def _notes(cases: Iterable[Case], chosen: Label) -> tuple[str, ...]:
    by_id = chosen == "documents"
    repeats = [
        count
        for case in cases
        if (
            count := len(case.hits)
            - len({hit.chunk.span.doc if by_id else hit.chunk.text for hit in case.hits})
        )
    ]
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


def _ask(rag_system: RagSystem, question: Question) -> Case:
    """Ask a system one question; an exception in it, or in its documents, is a failure.

    Raises:
        HarnessError: it returned something else than documents and an answer.
    """
    try:
        returned = rag_system(question.text)
        if inspect.isawaitable(returned):
            returned = _wait_for(returned)
    except Exception as error:  # noqa: BLE001  it is the system under test: any failure is its own
        return _failed_case(question, error)
    try:
        documents, answer = _unpack(returned)
    except TypeError as error:
        raise _reply_error(question, error) from None
    try:
        retrieved = None if documents is None else list(documents)  # a generator works only now
    except Exception as error:  # noqa: BLE001  likewise
        return _failed_case(question, error)
    try:
        hits = [_to_hit(rank, document) for rank, document in enumerate(retrieved or ())]
    except TypeError as error:
        raise _reply_error(question, error) from None
    return Case(
        question,
        tuple(hits),
        _judge_hits(question, hits),
        context=None if retrieved is None else SEPARATOR.join(hit.chunk.text for hit in hits),
        answer=None if answer is None else Answer(answer, declined=is_decline(answer)),
        keywords=_judge_by_keyword(question, hits),
        ranked=retrieved is not None,
    )


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that runs in a thread of its own: a notebook's is running already."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _wait_for(reply: Awaitable[Any]) -> Any:
    async def result() -> Any:
        return await reply

    return asyncio.run_coroutine_threadsafe(result(), _event_loop()).result()


def _unpack(returned: Any) -> tuple[Iterable[Any] | None, str | None]:
    """Return the documents of a reply, None where it tells none, and its answer.

    Raises:
        TypeError: it is none of the forms that a reply may have.
    """
    if isinstance(returned, tuple | list):
        if len(returned) != 2:
            raise TypeError(f"it returned {len(returned)} things")
        documents, answer = returned
        if isinstance(_text_of(documents), str) and not isinstance(answer, str | None):
            raise TypeError("it returned (answer, documents): the documents come first")
    elif isinstance(_text_of(returned), str):
        documents, answer = None, returned
    elif isinstance(returned, Mapping):
        documents, answer = (_first_of(returned.get, keys) for keys in _REPLY_KEYS)
    else:
        find = partial(getattr, returned)
        documents, answer = (_first_of(lambda key: find(key, None), keys) for keys in _REPLY_KEYS)
        if documents is answer is None:
            raise TypeError(f"it returned {type(returned).__name__}")
    if isinstance(documents, str | bytes | Mapping):
        raise TypeError(f"the documents are one {type(documents).__name__}, not a list")
    if documents is not None and not isinstance(documents, Iterable):
        raise TypeError(f"the documents are {type(documents).__name__}, not a list")
    text = _text_of(answer)
    if not isinstance(text, str | None):
        raise TypeError(f"the answer is {type(answer).__name__}, not a text or None")
    return documents, text


def _text_of(value: Any) -> Any:
    """Return the text of a chat model's message, and anything else as it is."""
    content = getattr(value, "content", None)
    return content if isinstance(content, str) else value


def _first_of(find: Callable[[str], Any], keys: Sequence[str]) -> Any:
    return next((value for value in map(find, keys) if value is not None), None)


def _failed_case(question: Question, error: Exception) -> Case:
    reason = f"{type(error).__name__}: {error}"
    return Case(question, judged=_judge_hits(question, ()), failure=Failure("retrieval", reason))


def _reply_error(question: Question, error: Exception) -> HarnessError:
    return HarnessError(
        f"question {question.id!r}: the system must return (documents, answer): {error}\n"
        "  a document is a text, a mapping with `id` and `text`, or has `page_content`; an answer "
        "alone will do, and a mapping or an object with `documents` and `answer`"
    )


def _to_hit(rank: int, document: Any) -> Hit:
    if isinstance(document, str):
        id_, text = document, document
    elif isinstance(document, Mapping):
        text = str(document.get("text") or document.get("page_content") or "")
        id_ = _first_id(document.get("id"), text)
    elif hasattr(document, "page_content"):
        text = str(document.page_content)
        about = getattr(document, "metadata", None) or {}
        id_ = _first_id(getattr(document, "id", None), about.get("id"), about.get("source"), text)
    else:
        raise TypeError(f"{type(document).__name__} is not a document")
    return Hit(Chunk(rank, Span(id_, 0, len(text)), text), score=-float(rank))


def _first_id(*ids: Any) -> str:
    """Return the first that is there; 0 is an id."""
    return str(next(id_ for id_ in ids if id_ is not None))


def _judge_hits(question: Question, hits: Sequence[Hit]) -> dict[Label, Judged]:
    """Judge by every label there is."""
    judged: dict[Label, Judged] = {}
    if question.documents is not None:
        judged["documents"] = judge_by_documents(question.documents, hits)
    strings: dict[Label, tuple[str, ...]] = {
        "answer": tuple(answer for answer in question.answers if not is_yes_or_no(answer)),
        "keywords": question.keywords,
    }
    texts = _folded_texts(hits)
    for kind, texts_of_kind in strings.items():
        if texts_of_kind:
            judged[kind] = _judge_by_strings(texts_of_kind, texts)
    return judged


def _judge_by_keyword(question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
    texts = _folded_texts(hits)
    return tuple(_judge_by_strings((keyword,), texts) for keyword in question.keywords)


def _folded_texts(hits: Sequence[Hit]) -> list[str]:
    """Return the folded texts, each once, at its first rank."""
    return [fold(text) for text in dict.fromkeys(hit.chunk.text for hit in hits)]


def _judge_by_strings(strings: Sequence[str], texts: Sequence[str]) -> Judged:
    """Judge by strings; without a corpus the inventory of texts is not known."""
    grades = tuple(int(any(occurs(string, text) for string in strings)) for text in texts)
    return Judged(grades, None)
