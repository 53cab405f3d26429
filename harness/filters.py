"""Filters over metadata, in the language of Chroma's `where`: read, checked and applied."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import suggest
from harness.records import Scalar

_JOINING: Mapping[str, Callable[[Any], bool]] = {"$and": all, "$or": any}
_ORDERING: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", "$in", "$nin", *_ORDERING)


def check(where: Any) -> None:
    """Raise `ValueError` where `where` is no filter, saying which part of it is not."""
    if not isinstance(where, Mapping) or len(where) != 1:
        raise ValueError(
            f"a filter is a mapping with one key, not {where!r}: "
            "join several by {$and: [{...}, {...}]}"
        )
    ((key, value),) = where.items()
    if key in _JOINING:
        if not isinstance(value, list) or not value:
            raise ValueError(f"{key} takes a list of filters, not {value!r}")
        for each in value:
            check(each)
    elif not isinstance(key, str) or key.startswith("$"):
        hint = suggest(str(key), _JOINING)
        raise ValueError(
            f"a filter begins with a field's name, or joins filters, not {key!r}: {hint}"
        )
    else:
        _check_operation(key, value)


def fields(where: Mapping[str, Any]) -> set[str]:
    """Return the names of the fields that a checked filter asks for."""
    ((key, value),) = where.items()
    return set().union(*map(fields, value)) if key in _JOINING else {key}


def matches(where: Mapping[str, Any], values: Mapping[str, Scalar]) -> bool:
    """Return whether `values` pass a checked filter.

    As in Chroma, a field that is missing, or of another type, is equal to nothing: it passes $ne
    and $nin and no other operator. Whole numbers and fractions are of one type, truth values of
    another.
    """
    ((key, value),) = where.items()
    if key in _JOINING:
        return _JOINING[key](matches(each, values) for each in value)
    ((how, wanted),) = value.items() if isinstance(value, Mapping) else (("$eq", value),)
    found = values.get(key)
    if how in _ORDERING:
        return _is_number(found) and _ORDERING[how](found, wanted)
    same = any(_same(found, each) for each in (wanted if isinstance(wanted, list) else [wanted]))
    return same != (how in ("$ne", "$nin"))


def _check_operation(field: str, value: Any) -> None:
    if _is_scalar(value):
        return
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError(f"{field}: expected a value or one {{operator: value}}, not {value!r}")
    ((how, wanted),) = value.items()
    if how not in _OPERATORS:
        raise ValueError(f"{field}: unknown operator {how!r}: {suggest(str(how), _OPERATORS)}")
    if how in ("$in", "$nin"):
        if not isinstance(wanted, list) or not wanted or not all(map(_is_scalar, wanted)):
            raise ValueError(f"{field}: {how} takes a list of values, not {wanted!r}")
    elif how in _ORDERING and not _is_number(wanted):
        raise ValueError(f"{field}: {how} compares numbers, and {wanted!r} is none")
    elif not _is_scalar(wanted):
        raise ValueError(f"{field}: {how} takes a text, a number, true or false, not {wanted!r}")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Scalar)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(found: Any, wanted: Any) -> bool:
    alike = type(found) is type(wanted) or (_is_number(found) and _is_number(wanted))
    return alike and bool(found == wanted)
