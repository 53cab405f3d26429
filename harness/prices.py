"""The price file: what a million tokens of each model cost, for money in forecasts and reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from harness import yamlfile
from harness.errors import ConfigError, InputError, Problem, suggest
from harness.stored import PriceLine, PricesLine
from harness.yamlfile import Place, YamlFile

_KEYS = ("currency", "as_of", "models")
_PRICE = ("input", "output")
_LOCAL = "gguf:"
_MILLION = 1_000_000
_CURRENCY = re.compile(r"[A-Z]{3}")
_FREE = PriceLine(input=0, output=0)
_BEGIN = 'it starts like this: `currency: USD`, then `models: {"provider:model": ...}`'


class PriceError(InputError):
    """The problems of one price file."""

    heading = "is not a valid price file"


@dataclass(frozen=True)
class Prices:
    """A price file that was read; `shown` is how messages name it."""

    shown: str
    line: PricesLine

    def of(self, model: str) -> PriceLine | None:
        """Return what `model` costs; 0 for a file in this process, None where nobody said."""
        return of(self.line, model)

    def asked(self, models: Mapping[str, object] | list[str]) -> PricesLine:
        """Return the prices of these models alone, as a run stores them."""
        found = {name: price for name in models if (price := self.of(name)) is not None}
        return self.line.model_copy(update={"models": found})


def of(prices: PricesLine | None, model: str | None) -> PriceLine | None:
    """Return what a model costs by these prices; a local file that has none costs nothing."""
    if prices is None or model is None:
        return None
    return prices.models.get(model, _FREE if model.startswith(_LOCAL) else None)


def money(price: PriceLine | None, tokens_in: int | None, tokens_out: int | None) -> float | None:
    """Return what so many tokens cost; None where the price or a count is not known."""
    if price is None:
        return None
    if price == _FREE:
        return 0.0
    if tokens_in is None or tokens_out is None:
        return None
    return (tokens_in * price.input + tokens_out * price.output) / _MILLION


def read(path: Path, shown: str) -> Prices:
    """Read a price file: `currency`, `as_of`, and `models` with `input` and `output` of each.

    Raises:
        PriceError: with everything that is wrong with it.
    """
    try:
        file = yamlfile.read(path, shown)
    except ConfigError as error:
        # What a configuration starts with is no help here.
        plain = [
            Problem(each.where, each.what, _BEGIN if "must hold keys" in each.what else each.hint)
            for each in error.problems
        ]
        raise PriceError(shown, plain) from None
    problems = list(_problems(file))
    if problems:
        raise PriceError(shown, problems)
    data = file.data
    models = {
        str(name): PriceLine(input=float(each["input"]), output=float(each["output"]))
        for name, each in data["models"].items()
    }
    as_of = data.get("as_of")
    day = date.fromisoformat(as_of) if isinstance(as_of, str) else as_of
    return Prices(shown, PricesLine(currency=data["currency"], as_of=day, models=models))


def _problems(file: YamlFile) -> Iterator[Problem]:
    data = file.data
    yield from _unknown(file, (), data, _KEYS)
    for key in ("currency", "models"):
        if key not in data:
            yield Problem("the file", f"`{key}` is missing", _BEGIN)
    currency = data.get("currency", "USD")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        what = f"must be a currency's three letters, not {_shown(currency)}"
        yield Problem(file.where(("currency",)), what, "write `currency: USD`, say")
    if not _is_day(data.get("as_of")):
        what = f"must be the day they were looked up, not {_shown(data['as_of'])}"
        yield Problem(file.where(("as_of",)), what, "write it as 2026-01-31")
    models = data.get("models", {})
    if not isinstance(models, Mapping):
        what = f"must hold the models by name, not {_shown(models)}"
        yield Problem(file.where(("models",)), what, _BEGIN)
        return
    for name, price in models.items():
        yield from _of_model(file, ("models", str(name)), name, price)


def _of_model(file: YamlFile, place: Place, name: Any, price: Any) -> Iterator[Problem]:
    where = file.where(place)
    if not isinstance(name, str) or not all(name.partition(":")):
        hint = 'name it as `chat` does, in quotes: "openai:your-model", "gguf:FILE.gguf"'
        yield Problem(where, f"{_shown(name)} names no provider and model", hint)
    elif name.startswith(_LOCAL) and "/" in name:
        yield Problem(where, f"{name!r} has a folder", "a local file goes by its name alone")
    if not isinstance(price, Mapping):
        hint = "write {input: 0.1, output: 0.4}, for a million tokens each"
        yield Problem(where, f"must hold two prices, not {_shown(price)}", hint)
        return
    yield from _unknown(file, place, price, _PRICE)
    for side in _PRICE:
        if side not in price:
            yield Problem(where, f"`{side}` is missing", "a price of a million tokens; 0 is one")
        elif not _is_price(price[side]):
            what = f"must be a number from 0, not {_shown(price[side])}"
            yield Problem(file.where((*place, side)), what, "the money for a million tokens")


def _unknown(
    file: YamlFile, place: Place, found: Mapping[Any, Any], known: tuple[str, ...]
) -> Iterator[Problem]:
    for key in found:
        if key not in known:
            where = file.where((*place, str(key)))
            yield Problem(where, f"unknown key {_shown(key)}", suggest(str(key), known))


def _is_price(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return number and math.isfinite(float(value)) and value >= 0
    except OverflowError:
        return False


def _is_day(value: Any) -> bool:
    if isinstance(value, str):
        try:
            date.fromisoformat(value)
        except ValueError:
            return False
        return True
    return value is None or (isinstance(value, date) and not isinstance(value, datetime))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
