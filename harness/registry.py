"""Names in a config file become components here, and nowhere else."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.errors import SpecError, suggest

T = TypeVar("T")


def given() -> Any:
    """Return a field that the run fills in: part of a component, and no parameter of its YAML."""
    return field(default=None, kw_only=True, metadata={_GIVEN: True})


_GIVEN = "given"
Spec = str | Mapping[str, Any]
"""`name`, `name(option=value, ...)@k`, or `{name: {parameter: value}}`; the forms used in YAML."""

_TEXT = re.compile(
    r"\s*(?P<name>[\w.-]+)(?:\s*\((?P<options>.*)\))?(?:\s*@(?P<cut>[0-9]{1,18})(?P<t>t?))?\s*"
)
_LONGEST = 20_000
"""Characters of a spec; the time to split one grows with their square."""
_MOST = 1_000
"""Components that one spec stands for."""
_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[(),]')
"""What splitting looks at; parentheses and commas between quotes are passed over."""


class Registry(Generic[T]):
    """The components of one family, found by importing every module of its package.

    A component is a frozen dataclass with a `name`. Its fields are its parameters in YAML, so the
    class is the only place where they are named, typed, defaulted and documented.
    """

    def __init__(self, family: str, package: str) -> None:
        self.family = family
        self.package = package
        self._classes: dict[str, type[T]] = {}
        self._aliases: dict[str, str] = {}
        self._complete = False

    def register(self, cls: type[T]) -> type[T]:
        """Add `cls` under its `name` and `aliases`. Use as a decorator, above `@dataclass`."""
        assert is_dataclass(cls), f"{cls.__name__} must be a dataclass"
        name: str = cls.name  # type: ignore[attr-defined]
        assert name not in self._classes, f"two {self.family}s are named {name!r}"
        self._classes[name] = cls
        for alias in getattr(cls, "aliases", ()):
            self._aliases[alias] = name
        return cls

    def __iter__(self) -> Iterator[str]:
        """Iterate over the known names, sorted."""
        if not self._complete:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            self._complete = True
        return iter(sorted(self._classes))

    def __getitem__(self, name: str) -> type[T]:
        """Return the class registered under `name`; raises `SpecError` where there is none."""
        known = list(self)
        name = self._aliases.get(name, name)
        if name not in known:
            raise SpecError(f"unknown {self.family} {name!r}", suggest(name, known))
        return self._classes[name]

    def expand(self, spec: Spec) -> list[Spec]:
        """Return the specs that `spec` stands for: a list in a scalar parameter is an axis."""
        name, params = parse(spec)
        kinds = {field.name: str(field.type) for field in _parameters(self[name])}
        for key, value in params.items():
            if value == [] and "tuple" not in kinds.get(key, ""):
                raise SpecError(f"{self.family} {name!r}: {key}: the list is empty", "name a value")
        axes = [
            [(key, each) for each in value]
            if isinstance(value, list) and "tuple" not in kinds.get(key, "tuple")
            else [(key, value)]
            for key, value in params.items()
        ]
        if (many := math.prod(map(len, axes))) > _MOST:
            what = f"{self.family} {name!r}: its lists combine to {many:,} components"
            raise SpecError(what, f"name fewer: {_MOST:,} at most")
        if all(len(axis) == 1 for axis in axes) and isinstance(spec, str):
            return [spec]
        return [{name: dict(choice)} for choice in itertools.product(*axes)]

    def build(self, spec: Spec) -> T:
        """Return the component that `spec` describes, with its parameters checked.

        Raises:
            SpecError: the name or a parameter is unknown, or a value is not allowed.
        """
        name, params = parse(spec)
        cls = self[name]
        name = cls.name  # type: ignore[attr-defined]
        known = {field.name: str(field.type) for field in _parameters(cls)}
        for param in params:
            if param not in known:
                shown = {"k": "cut-off @k", "budget": "token budget @...t"}.get(
                    param, f"parameter {param!r}"
                )
                hint = suggest(param, known) if known else "it takes no parameters"
                raise SpecError(f"{self.family} {name!r} has no {shown}", hint)
        for param, value in params.items():
            if isinstance(value, bool) and "bool" not in known[param]:
                # Where a number is wanted, pydantic would take `yes` for 1.
                given = "yes" if value else "no"
                raise SpecError(f"{self.family} {name!r}: {param}: `{given}` is no value of it")
        try:
            read = {key: _read(value, known[key]) for key, value in params.items()}
            built: T = _adapter(cls).validate_python(read)  # type: ignore[arg-type]
            return built
        except ValidationError as error:
            said = "; ".join(_said(each) for each in error.errors())
            raise SpecError(f"{self.family} {name!r}: {said}") from None


@cache
def _adapter(cls: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def parse(spec: Spec) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters that `spec` holds, unchecked.

    Raises:
        SpecError: `spec` has none of the three forms.
    """
    if isinstance(spec, str):
        return _parse_text(spec)
    if not isinstance(spec, Mapping):
        raise SpecError(f"expected a name or a mapping, found {spec!r}")
    if len(spec) != 1:
        names = ", ".join(map(str, spec)) or "none"
        raise SpecError(f"expected one name, found {len(spec)}: {names}")
    ((text, params),) = spec.items()
    name, given = _parse_text(str(text))
    if params is None:
        params = {}
    if not isinstance(params, Mapping):
        raise SpecError(f"the parameters of {name!r} must be a mapping, not {params!r}")
    return name, {**given, **{str(key): value for key, value in params.items()}}


def label(component: Any) -> str:
    """Return the spec of `component` as one short string; `Registry.build` reads it back."""
    params = {
        field.name: getattr(component, field.name)
        for field in _parameters(type(component))
        if field.default is MISSING or getattr(component, field.name) != field.default
    }
    at = ""
    if params.get("k") is not None:
        at = f"@{params['k']}"
    elif params.get("budget") is not None:
        at = f"@{params['budget']}t"
    listed = ", ".join(f"{key}={_text(v)}" for key, v in params.items() if not _is_cut(key, at))
    return str(component.name) + (f"({listed})" if listed else "") + at


def summary(cls: type[Any]) -> str:
    """Return the first sentence of a component's docstring."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def description(cls: type[Any]) -> str:
    """Return the whole docstring of a component on one line."""
    return " ".join((cls.__doc__ or "").split())


def in_full(component: Any) -> str:
    """Return `component` with every parameter and its value, defaults too, for a person to read."""
    values = (f"{f.name}={_text(getattr(component, f.name))}" for f in _parameters(type(component)))
    listed = ", ".join(values)
    return str(component.name) + (f"({listed})" if listed else "")


def parameters(cls: type[Any]) -> dict[str, str]:
    """Return the parameters of a component and their defaults, as text."""
    return {
        field.name: "required" if field.default is MISSING else _text(field.default)
        for field in _parameters(cls)
    }


def _parameters(cls: type[Any]) -> list[Field[Any]]:
    return [each for each in fields(cls) if each.init and _GIVEN not in each.metadata]


def _is_cut(key: str, at: str) -> bool:
    return bool(at) and key in ("k", "budget")


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, str) and not _plain(value):
        return json.dumps(value, ensure_ascii=False)
    return "none" if value is None else str(value)


def _plain(text: str) -> bool:
    """Return whether `text` can stand as an option's value without quotes around it."""
    whole = text == text.strip() and text.isprintable() and '"' not in text
    return whole and _split(text) == [text] and _split(f"{text},x") == [text, "x"]


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except json.JSONDecodeError:
        raise SpecError(f"{text} is not a text between quotes", 'write \\" for a quote') from None


def _read(value: Any, kind: str) -> Any:
    """Return `value` with the texts that `_text` writes for None and for tuples read back."""
    if value == "none" and "None" in kind:
        return None
    if isinstance(value, str) and "tuple" in kind and value[:1] + value[-1:] == "()":
        return [_unquoted(part.strip()) for part in _split(value[1:-1])]
    return value


def _said(error: Any) -> str:
    where = ".".join(str(key) for key in error["loc"])
    if error["type"] == "missing":
        return "a cut-off is needed: @5" if where == "k" else f"{where}: it must be given"
    message = error["msg"].removeprefix("Value error, ")
    found = "" if error["type"] == "value_error" else f", not {error['input']!r}"
    return f"{where}: {message}{found}" if where else f"{message}"


def _parse_text(text: str) -> tuple[str, dict[str, Any]]:
    if len(text) > _LONGEST:
        what = f"{text[:40]!r}... has {len(text):,} characters"
        raise SpecError(what, f"{_LONGEST:,} at most; a mapping may hold more: {{name: {{...}}}}")
    found = _TEXT.fullmatch(text)
    if not found:
        raise SpecError(f"{text!r} is not of the form name(option=value, ...)@k")
    params: dict[str, Any] = {}
    for option in _split(found["options"] or ""):
        key, equals, value = option.partition("=")
        if not equals:
            raise SpecError(f"{text!r}: {option.strip()!r} is not of the form option=value")
        params[key.strip()] = _unquoted(value.strip())
    if found["cut"]:
        params["budget" if found["t"] else "k"] = int(found["cut"])
    return found["name"], params


def _split(options: str) -> list[str]:
    """Split at the commas that stand outside parentheses and quotes."""
    parts, depth, start = [], 0, 0
    for piece in _PIECES.finditer(options):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "," and depth == 0:
            parts.append(options[start : piece.start()])
            start = piece.end()
    parts.append(options[start:])
    return [part for part in parts if part.strip()]
