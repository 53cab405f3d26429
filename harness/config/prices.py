"""Reads the price file: what a million tokens of each model cost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
)

from harness.config.source import SourceMap
from harness.errors import ConfigError, InputError
from harness.files import yaml_lines
from harness.store.expenses import price_of
from harness.store.run_file import Price, PriceList

_LOCAL_PREFIX = "gguf:"


class PriceError(InputError):
    """The problems of one price file."""

    heading = "is not a valid price file"


@dataclass(frozen=True)
class Prices:
    """A price file that was read; `shown` is how messages name it."""

    shown: str
    line: PriceList

    def price_of(self, model: str) -> Price | None:
        """Return what `model` costs; 0 for a file in this process, None where nobody said."""
        return price_of(self.line, model)

    def select(self, models: Mapping[str, object] | list[str]) -> PriceList:
        """Return the prices of these models alone, as a run stores them."""
        prices = {name: price for name in models if (price := self.price_of(name)) is not None}
        return replace(self.line, models=prices)


def _check_model(name: str) -> str:
    if not all(name.partition(":")):
        raise ValueError(
            f"{name[:60]!r} names no provider and model\n"
            'name it as `chat` does, in quotes: "openai:your-model", "gguf:FILE.gguf"'
        )
    if name.startswith(_LOCAL_PREFIX) and "/" in name:
        raise ValueError(f"{name[:60]!r} has a folder\na local file goes by its name alone")
    return name


def _check_day(value: Any) -> Any:
    with suppress(ValueError):
        value = date.fromisoformat(value) if isinstance(value, str) else value
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    shown = str(value)[:60]
    raise ValueError(f"must be the day they were looked up, as 2026-01-31, not {shown!r}")


def _check_currency(value: Any) -> Any:
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isupper():
        return value
    raise ValueError(f"must be three capital letters: EUR, not {str(value)[:60]!r}")


_Money = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]


class _Prices(BaseModel):
    """The money for a million tokens sent, and for a million got."""

    model_config = ConfigDict(extra="forbid")

    input: _Money
    output: _Money


class _PriceFile(BaseModel):
    """The keys of a price file."""

    model_config = ConfigDict(extra="forbid")

    currency: Annotated[str, BeforeValidator(_check_currency)]
    as_of: Annotated[date | None, BeforeValidator(_check_day)] = None
    models: dict[Annotated[str, AfterValidator(_check_model)], _Prices]


def read_prices(path: Path, shown: str) -> Prices:
    """Read a price file: `currency`, `as_of`, and `models` with `input` and `output` of each.

    Raises:
        PriceError: with everything that is wrong with it.
    """
    try:
        file = yaml_lines.read(path, shown, "currency: USD")
    except ConfigError as error:
        raise PriceError(shown, error.problems) from None
    try:
        read = _PriceFile.model_validate(file.data)
    except ValidationError as error:
        places = SourceMap(file, {}, _PriceFile)
        raise PriceError(shown, map(places.to_problem, error.errors())) from None
    models = {
        name: Price(input=price.input, output=price.output) for name, price in read.models.items()
    }
    return Prices(shown, PriceList(currency=read.currency, as_of=read.as_of, models=models))
