"""Turns records into JSON and back: what is read from a file is checked."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


class RecordFormat(Generic[T]):
    """How one type of record is written."""

    def __init__(self, record_type: type[T]) -> None:
        self._type = record_type

    @cached_property
    def adapter(self) -> TypeAdapter[T]:
        """What knows the fields; building it takes some milliseconds."""
        return TypeAdapter(self._type)

    def line(self, record: T) -> str:
        """Return a record as a line of JSON, with its end; defaults are left out."""
        raw = self.adapter.dump_json(record, exclude_defaults=True, warnings=False)
        return raw.decode() + "\n"

    def text(self, record: T) -> str:
        """Return a record as JSON with all of its fields, a line each."""
        return self.adapter.dump_json(record, indent=1, warnings=False).decode() + "\n"

    def data(self, record: T) -> Any:
        """Return a record as plain data, fit for JSON, with all of its fields."""
        return self.adapter.dump_python(record, mode="json", warnings=False)

    def parse(self, raw: bytes | str) -> T:
        """Return the record that JSON holds.

        Raises:
            ValidationError: a field is missing, unknown, or of another type.
        """
        return self.adapter.validate_json(raw, strict=True, extra="forbid")
