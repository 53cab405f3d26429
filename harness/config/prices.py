"""Reads the price file: what a million tokens of each model cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from harness.errors import ConfigError, InputError, Problem, suggest
from harness.files import yaml_lines
from harness.files.yaml_lines import Place, YamlFile
from harness.store.expenses import price_of
from harness.store.run_file import Price, PriceList

_KEYS = ("currency", "as_of", "models")
_PRICE_KEYS = ("input", "output")
_LOCAL_PREFIX = "gguf:"
_CURRENCY = re.compile(r"[A-Z]{3}")
_START_HINT = 'it starts like this: `currency: USD`, then `models: {"provider:model": ...}`'


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


def read_prices(path: Path, shown: str) -> Prices:
    """Read a price file: `currency`, `as_of`, and `models` with `input` and `output` of each.

    Raises:
        PriceError: with everything that is wrong with it.
    """
    try:
        file = yaml_lines.read(path, shown)
    except ConfigError as error:
        # What a configuration starts with is no help here.
        plain = [
            Problem(
                problem.where,
                problem.what,
                _START_HINT if "must hold keys" in problem.what else problem.hint,
            )
            for problem in error.problems
        ]
        raise PriceError(shown, plain) from None
    problems = list(_find_problems(file))
    if problems:
        raise PriceError(shown, problems)
    data = file.data
    models = {
        str(name): Price(input=float(price["input"]), output=float(price["output"]))
        for name, price in data["models"].items()
    }
    as_of = data.get("as_of")
    day = date.fromisoformat(as_of) if isinstance(as_of, str) else as_of
    return Prices(shown, PriceList(currency=data["currency"], as_of=day, models=models))


def _find_problems(file: YamlFile) -> Iterator[Problem]:
    data = file.data
    yield from _find_unknown_keys(file, (), data, _KEYS)
    for key in ("currency", "models"):
        if key not in data:
            yield Problem("the file", f"`{key}` is missing", _START_HINT)
    currency = data.get("currency", "USD")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        message = f"must be a currency's three letters, not {_short_repr(currency)}"
        yield Problem(file.where(("currency",)), message, "write `currency: USD`, say")
    if not _is_day(data.get("as_of")):
        message = f"must be the day they were looked up, not {_short_repr(data['as_of'])}"
        yield Problem(file.where(("as_of",)), message, "write it as 2026-01-31")
    models = data.get("models", {})
    if not isinstance(models, Mapping):
        message = f"must hold the models by name, not {_short_repr(models)}"
        yield Problem(file.where(("models",)), message, _START_HINT)
        return
    for name, price in models.items():
        yield from _find_model_problems(file, ("models", str(name)), name, price)


def _find_model_problems(file: YamlFile, place: Place, name: Any, price: Any) -> Iterator[Problem]:
    where = file.where(place)
    if not isinstance(name, str) or not all(name.partition(":")):
        hint = 'name it as `chat` does, in quotes: "openai:your-model", "gguf:FILE.gguf"'
        yield Problem(where, f"{_short_repr(name)} names no provider and model", hint)
    elif name.startswith(_LOCAL_PREFIX) and "/" in name:
        yield Problem(where, f"{name!r} has a folder", "a local file goes by its name alone")
    if not isinstance(price, Mapping):
        hint = "write {input: 0.1, output: 0.4}, for a million tokens each"
        yield Problem(where, f"must hold two prices, not {_short_repr(price)}", hint)
        return
    yield from _find_unknown_keys(file, place, price, _PRICE_KEYS)
    for side in _PRICE_KEYS:
        if side not in price:
            yield Problem(where, f"`{side}` is missing", "a price of a million tokens; 0 is one")
        elif not _is_price(price[side]):
            message = f"must be a number from 0, not {_short_repr(price[side])}"
            yield Problem(file.where((*place, side)), message, "the money for a million tokens")


def _find_unknown_keys(
    file: YamlFile, place: Place, keys: Mapping[Any, Any], allowed: tuple[str, ...]
) -> Iterator[Problem]:
    for key in keys:
        if key not in allowed:
            where = file.where((*place, str(key)))
            yield Problem(where, f"unknown key {_short_repr(key)}", suggest(str(key), allowed))


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


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
