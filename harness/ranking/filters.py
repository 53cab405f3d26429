"""Checks and applies metadata filters in the language of Chroma's `where`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import suggest
from harness.records import Scalar

_JOIN_OPERATORS: Mapping[str, Callable[[Any], bool]] = {"$and": all, "$or": any}
_ORDER_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", "$in", "$nin", *_ORDER_OPERATORS)


def check_filter(where: Any) -> None:
    """Raise `ValueError` where `where` is no filter, saying which part of it is not."""
    if not isinstance(where, Mapping) or len(where) != 1:
        raise ValueError(
            f"a filter is a mapping with one key, not {where!r}: "
            "join several by {$and: [{...}, {...}]}"
        )
    ((key, value),) = where.items()
    if key in _JOIN_OPERATORS:
        if not isinstance(value, list) or not value:
            raise ValueError(f"{key} takes a list of filters, not {value!r}")
        for item in value:
            check_filter(item)
    elif not isinstance(key, str) or key.startswith("$"):
        hint = suggest(str(key), _JOIN_OPERATORS)
        raise ValueError(
            f"a filter begins with a field's name, or joins filters, not {key!r}: {hint}"
        )
    else:
        _check_operation(key, value)


def filter_fields(where: Mapping[str, Any]) -> set[str]:
    """Return the names of the fields that a checked filter asks for."""
    ((key, value),) = where.items()
    return set().union(*map(filter_fields, value)) if key in _JOIN_OPERATORS else {key}


def matches(where: Mapping[str, Any], values: Mapping[str, Scalar]) -> bool:
    """Return whether `values` pass a checked filter.

    As in Chroma, a field that is missing, or of another type, is equal to nothing: it passes $ne
    and $nin and no other operator. Whole numbers and fractions are of one type, truth values of
    another.
    """
    ((key, value),) = where.items()
    if key in _JOIN_OPERATORS:
        return _JOIN_OPERATORS[key](matches(item, values) for item in value)
    ((operation, expected),) = value.items() if isinstance(value, Mapping) else (("$eq", value),)
    actual = values.get(key)
    if operation in _ORDER_OPERATORS:
        return _is_number(actual) and _ORDER_OPERATORS[operation](actual, expected)
    same = any(
        _is_equal(actual, item) for item in (expected if isinstance(expected, list) else [expected])
    )
    return same != (operation in ("$ne", "$nin"))


def _check_operation(field: str, value: Any) -> None:
    if _is_scalar(value):
        return
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError(f"{field}: expected a value or one {{operator: value}}, not {value!r}")
    ((operation, expected),) = value.items()
    if operation not in _OPERATORS:
        raise ValueError(
            f"{field}: unknown operator {operation!r}: {suggest(str(operation), _OPERATORS)}"
        )
    if operation in ("$in", "$nin"):
        if not isinstance(expected, list) or not expected or not all(map(_is_scalar, expected)):
            raise ValueError(f"{field}: {operation} takes a list of values, not {expected!r}")
    elif operation in _ORDER_OPERATORS and not _is_number(expected):
        raise ValueError(f"{field}: {operation} compares numbers, and {expected!r} is none")
    elif not _is_scalar(expected):
        raise ValueError(
            f"{field}: {operation} takes a text, a number, true or false, not {expected!r}"
        )


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Scalar)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_equal(actual: Any, expected: Any) -> bool:
    comparable = type(actual) is type(expected) or (_is_number(actual) and _is_number(expected))
    return comparable and bool(actual == expected)
