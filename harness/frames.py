"""pandas frames: results as one, and values of questions read from one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

from harness.errors import DataError, MissingExtra, Problem

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame

Values = Mapping[str, Mapping[str, float | None]]
"""By metric and question; None where nothing was scored."""

_QUESTION = "question"
_IDS = "name them: a column `question`, or frame.index = IDS"
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


def is_frame(given: object) -> TypeGuard[DataFrame]:
    """Return whether something is a pandas frame; without pandas nothing is."""
    try:
        import pandas
    except ImportError:
        return False
    return isinstance(given, pandas.DataFrame)


def values(frame: DataFrame, name: str) -> Values:
    """Return the values in a frame: a row a question, a column a metric.

    Question ids are the column `question`, or else the index; missing is not scored. `name` is
    what errors call the frame.

    Raises:
        DataError: it has no ids or no metric, an id twice, or a value that is no number from 0
            to 1; all of them are named.
    """
    ids, problems = _ids(frame)
    columns = [each for each in frame.columns if each != _QUESTION]
    if not columns:
        hint = "give one numeric column a metric"
        problems.append(Problem("columns", "there is none of a metric", hint))
    for each in dict.fromkeys(columns):
        if not isinstance(each, str) or not each.strip():
            problems.append(Problem(f"column {each!r}", "is no name", "name metrics by texts"))
        elif columns.count(each) > 1:
            problems.append(Problem(f"column {each!r}", "is there twice", "take one out"))
    if problems:
        raise DataError(name, problems)
    found = {each: list(_read(frame[each])) for each in columns}
    for each, column in found.items():
        problems += _misfits(each, ids, column)
    if problems:
        raise DataError(name, problems)
    return {
        each: {
            id_: None if value is None else min(1.0, max(0.0, float(value)))
            for id_, value in zip(ids, column, strict=True)
        }
        for each, column in found.items()
    }


def _ids(frame: DataFrame) -> tuple[list[str], list[Problem]]:
    import pandas

    if not len(frame):
        return [], [Problem("rows", "there is none", "give one row a question")]
    named = list(frame.columns).count(_QUESTION)
    if named > 1:
        return [], [Problem(f"column {_QUESTION!r}", "is there twice", "take one out")]
    given = frame[_QUESTION] if named else frame.index
    where = f"column {_QUESTION!r}" if named else "index"
    if isinstance(given, pandas.RangeIndex):
        return [], [Problem("index", "counts the rows, and holds no question ids", _IDS)]
    if isinstance(given, pandas.MultiIndex):
        return [], [Problem("index", "has several levels", _IDS)]
    ids = [str(each) for each in given]
    if given.isna().any():
        return ids, [Problem(where, "an id is missing", "give each row one")]
    seen: set[str] = set()
    twice = next((each for each in ids if each in seen or seen.add(each)), None)  # type: ignore[func-returns-value]
    hint = "give one row a question, of one system"
    return ids, [] if twice is None else [Problem(where, f"{twice!r} is there twice", hint)]


def _read(column: Any) -> Iterator[Any]:
    for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True):
        yield None if missing else value


def _misfits(name: str, ids: Sequence[str], column: Sequence[Any]) -> Iterator[Problem]:
    """Yield what is wrong with a column, once: its first wrong value and how many there are."""
    known = [(id_, value) for id_, value in zip(ids, column, strict=True) if value is not None]
    if not known:
        yield Problem(f"column {name!r}", "no question has a value", "take it out, or score it")
    wrong = [(id_, value) for id_, value in known if not _fits(value)]
    if wrong:
        (id_, value), more = wrong[0], len(wrong) - 1
        what = f"{repr(value)[:40]} of question {id_!r} is no number from 0 to 1"
        what += f"; so are {more:,} more" if more else ""
        hint = "a metric is from 0 to 1, and higher is better; leave out what is none, or scale it"
        yield Problem(f"column {name!r}", what, hint)


def _fits(value: object) -> bool:
    return isinstance(value, Real) and bool(-_ROUNDING <= value <= 1 + _ROUNDING)  # type: ignore[operator]
