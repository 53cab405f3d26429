"""Converts results to pandas frames, and reads values of questions from a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

from harness import limits
from harness.errors import DataError, MissingExtra, Problem

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame

Values = Mapping[str, Mapping[str, float | None]]
"""By metric and question; None where nothing was scored."""

_QUESTION = "question"
_IDS_HINT = "name them: a column `question`, or frame.index = IDS"
_ROUNDING = 1e-9


def table(lines: Iterable[Sequence[object]], columns: Mapping[str, str]) -> DataFrame:
    """Return lines as a frame of these columns, by name and type; None is missing.

    Raises:
        MissingExtra: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtra("a frame", "pandas", "frames") from None
    return pandas.DataFrame([*lines], columns=[*columns]).astype(columns)


def is_frame(value: object) -> TypeGuard[DataFrame]:
    """Return whether something is a pandas frame; without pandas nothing is."""
    try:
        import pandas
    except ImportError:
        return False
    return isinstance(value, pandas.DataFrame)


def values(frame: DataFrame, name: str) -> Values:
    """Return the values in a frame: a row a question, a column a metric.

    Question ids are the column `question`, or else the index; missing is not scored. `name` is
    what errors call the frame.

    Raises:
        DataError: it has no ids or no metric, an id twice, or a value that is no number from 0
            to 1; all of them are named.
    """
    ids, problems = _ids(frame)
    columns = [metric for metric in frame.columns if metric != _QUESTION]
    if not columns:
        hint = "give one numeric column a metric"
        problems.append(Problem("columns", "there is none of a metric", hint))
    for metric in dict.fromkeys(columns):
        if not isinstance(metric, str) or not metric.strip():
            problems.append(Problem(f"column {metric!r}", "is no name", "name metrics by texts"))
        elif columns.count(metric) > 1:
            problems.append(Problem(f"column {metric!r}", "is there twice", "take one out"))
    if problems:
        raise DataError(name, problems)
    values_by_metric = {metric: list(_column_values(frame[metric])) for metric in columns}
    for metric, column in values_by_metric.items():
        problems += _column_problems(metric, ids, column)
    if problems:
        raise DataError(name, problems)
    return {
        metric: {
            id_: None if value is None else min(1.0, max(0.0, float(value)))
            for id_, value in zip(ids, column, strict=True)
        }
        for metric, column in values_by_metric.items()
    }


def _ids(frame: DataFrame) -> tuple[list[str], list[Problem]]:
    import pandas

    if not len(frame):
        return [], [Problem("rows", "there is none", "give one row a question")]
    id_columns = list(frame.columns).count(_QUESTION)
    if id_columns > 1:
        return [], [Problem(f"column {_QUESTION!r}", "is there twice", "take one out")]
    column = frame[_QUESTION] if id_columns else frame.index
    where = f"column {_QUESTION!r}" if id_columns else "index"
    if isinstance(column, pandas.RangeIndex):
        return [], [Problem("index", "counts the rows, and holds no question ids", _IDS_HINT)]
    if isinstance(column, pandas.MultiIndex):
        return [], [Problem("index", "has several levels", _IDS_HINT)]
    ids = [str(id_) for id_ in column]
    if column.isna().any():
        return ids, [Problem(where, "an id is missing", "give each row one")]
    seen: set[str] = set()
    twice = next((id_ for id_ in ids if id_ in seen or seen.add(id_)), None)  # type: ignore[func-returns-value]
    hint = "give one row a question, of one system"
    return ids, [] if twice is None else [Problem(where, f"{twice!r} is there twice", hint)]


def _column_values(column: Any) -> Iterator[Any]:
    for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True):
        yield None if missing else value


def _column_problems(name: str, ids: Sequence[str], column: Sequence[Any]) -> Iterator[Problem]:
    """Yield what is wrong with a column, once: its first wrong value and how many there are."""
    scored = [(id_, value) for id_, value in zip(ids, column, strict=True) if value is not None]
    if not scored:
        yield Problem(f"column {name!r}", "no question has a value", "take it out, or score it")
    wrong = [(id_, value) for id_, value in scored if not _is_score(value)]
    if wrong:
        (id_, value), more = wrong[0], len(wrong) - 1
        quote = repr(value)[: limits.MAX_VALUE_QUOTE_CHARS]
        message = f"{quote} of question {id_!r} is no number from 0 to 1"
        message += f"; so are {more:,} more" if more else ""
        hint = "a metric is from 0 to 1, and higher is better; leave out what is none, or scale it"
        yield Problem(f"column {name!r}", message, hint)


def _is_score(value: object) -> bool:
    return isinstance(value, Real) and bool(-_ROUNDING <= value <= 1 + _ROUNDING)  # type: ignore[operator]
