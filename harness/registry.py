"""Registries: build components from the names and specs of a configuration."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import pkgutil
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass, make_dataclass
from functools import cache, partial
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness import limits, user_code
from harness.errors import HarnessError, SpecError, suggest
from harness.fingerprint import is_built_in
from harness.text.secrets import describe_error

T = TypeVar("T")


def injected() -> Any:
    """Return a field that the run fills in: part of a component, and no parameter of its YAML."""
    return field(default=None, kw_only=True, metadata={_INJECTED: True})


_INJECTED = "injected"
Spec = str | Mapping[str, Any]
"""`name`, `name(option=value, ...)@k`, or `{name: {parameter: value}}`; the forms used in YAML."""

_SPEC_PATTERN = re.compile(
    r"\s*(?P<name>[\w.:-]+)(?:\s*\((?P<options>.*)\))?(?:\s*@(?P<cut>[0-9]{1,18})(?P<t>t?))?\s*"
)
_MODEL_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_SEPARATORS = re.compile(r'"(?:[^"\\]|\\.)*"|[(),]')
"""What splitting looks at; parentheses and commas between quotes are passed over."""


_ATTRIBUTES = frozenset({"name", "version", "kind", "needs"})
"""What a user's own class may write as fields, and is no parameter of it."""
_dotted_names: dict[type, str] = {}
"""The classes that were found by a dotted name, and what they were called."""


class Registry(Generic[T]):
    """The components of one family: its package's, those of entry points, and the user's own.

    A component is a frozen dataclass with a `name`. Its fields are its parameters in YAML, so the
    class is the only place where they are named, typed, defaulted and documented. The package's are
    found by importing every module of it; an installed distribution adds one by an entry point in
    the group of the package's name (`harness.metrics`), and a user by `package.module:Class`. These
    two may be plain classes, without parameters. They are held to `contract`, the protocol of the
    family, and to `find_fault`, which returns what else is wrong with a class, or "". Where the
    contract is a base class, a class that is not derived from it gets its defaults. `held` is a
    class that comes before theirs, and checks what its methods return.
    """

    def __init__(
        self,
        family: str,
        package: str,
        contract: Any,
        find_fault: Callable[[Any], str] = lambda cls: "",
        held: type | None = None,
    ) -> None:
        self.family = family
        self.package = package
        self._contract = contract
        self._find_fault = find_fault
        self._held = held
        self._classes: dict[str, type[T]] = {}
        self._plugins: dict[str, EntryPoint] = {}
        self._own: dict[str, type[T]] = {}
        self._complete = False

    def register(self, cls: type[T]) -> type[T]:
        """Add `cls` under its `name`. Use as a decorator, above `@dataclass`."""
        assert is_dataclass(cls), f"{cls.__name__} must be a dataclass"
        name: str = cls.name  # type: ignore[attr-defined]
        assert name not in self._classes, f"two {self.family}s are named {name!r}"
        self._classes[name] = cls
        return cls

    def __iter__(self) -> Iterator[str]:
        """Iterate over the known names, sorted."""
        self._find_all()
        return iter(sorted({*self._classes, *self._plugins}))

    def _find_all(self) -> None:
        """Import the package's modules and look for entry points, once."""
        if not self._complete:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            plugins = (entry for entry in _entry_points() if entry.group == self.package)
            self._plugins = {entry.name: entry for entry in plugins}
            self._complete = True

    def __getitem__(self, name: str) -> type[T]:
        """Return the class of this name.

        Raises:
            SpecError: there is none, it breaks the contract, or only a stored file names it.
        """
        self._find_all()
        if ":" in name:
            return self._own.get(name) or self._add_own(name)
        if name in self._plugins:
            self._add_plugin(name, self._plugins[name])
        elif name not in self._classes:
            raise SpecError(f"unknown {self.family} {name!r}", suggest(name, self))
        return self._classes[name]

    def _parse(self, spec: Spec) -> tuple[str, dict[str, Any]]:
        """Return what `parse` does, a class of LangChain's as an argument of `langchain`.

        Raises:
            SpecError: it is a model's name in the place of a component, or is of no form.
        """
        if isinstance(spec, str) and _MODEL_NAME.fullmatch(spec.strip()):
            takers = [
                name for name in self if "model" in {f.name for f in _parameter_fields(self[name])}
            ]
            if takers:
                hint = f"write {{{takers[-1]}: {{model: {spec.strip()}}}}}"
                raise SpecError(f"{spec.strip()!r} is the name of a model, no {self.family}", hint)
        name, params = parse(spec)
        if ":" not in name or not self._is_of_langchain(name):
            return name, params
        own = {f.name for f in _parameter_fields(self["langchain"])}
        arguments: Any = {key: value for key, value in params.items() if key not in own}
        if isinstance(spec, str):
            arguments = [f"{key}={value}" for key, value in arguments.items()]
        options = {key: value for key, value in params.items() if key in own}
        return "langchain", {**options, "cls": name, "arguments": arguments}

    def _is_of_langchain(self, name: str) -> bool:
        """Return whether a dotted name is of a class that the family's `langchain` is made of."""
        if "langchain" not in list(self) or not user_code.may_import():
            return False
        cls = user_code.import_named(name)
        base = getattr(self["langchain"], "base", None)
        return isinstance(cls, type) and base in {
            f"{parent.__module__}:{parent.__qualname__}" for parent in cls.__mro__
        }

    def _add_plugin(self, name: str, plugin: EntryPoint) -> None:
        place = f"{self.family} {name!r}, of {plugin.dist.name if plugin.dist else plugin.value}"
        if name in self._classes:
            raise SpecError(f"{place}: the harness has one of this name", "uninstall one of them")
        cls = self._checked(place, plugin.value)
        if cls.name != name:
            raise SpecError(f"{place}: its name is {cls.name!r}", "name its entry point like that")
        self._classes[name] = cls
        del self._plugins[name]

    def _add_own(self, name: str) -> type[T]:
        if not user_code.may_import():
            raise SpecError(
                f"{self.family} {name!r} is a class of somebody's own, and what only a stored file "
                "names is not imported",
                "name it in a configuration, or on the command line",
            )
        cls: type[T] = self._checked(f"{self.family} {name!r}", name)
        self._own[name] = cls
        _dotted_names[cls] = name
        return cls

    def _checked(self, place: str, target: str) -> Any:
        """Import a class, and return it as a dataclass that keeps the contract."""
        cls = user_code.import_named(target)
        if not isinstance(cls, type):
            raise SpecError(f"{place}: it is no class", "name the class itself")
        members = _members(self._contract)
        if _has_defaults(self._contract):
            members = [item for item in members if _is_required(self._contract, item)]
        known = {item.name for item in fields(cls)} if is_dataclass(cls) else set()
        missing = [item for item in members if item not in known and not hasattr(cls, item)]
        fault = f"it has no {', '.join(map(repr, missing))}" if missing else self._find_fault(cls)
        if fault:
            raise SpecError(f"{place}: {fault}", f"every {self.family} has: {', '.join(members)}")
        about = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        about["__qualname__"] = cls.__qualname__
        bases = [cls] if self._held is None else [self._held, cls]
        if _has_defaults(self._contract) and not issubclass(cls, self._contract):
            bases.append(self._contract)
        if len(bases) > 1:
            fill = partial(dict[str, Any].update, **about)
            cls = types.new_class(cls.__name__, tuple(bases), exec_body=fill)
        if is_dataclass(cls):
            return cls
        return make_dataclass(
            cls.__name__,
            (),
            bases=(cls,),
            namespace=about,
            init=False,
            repr=False,
            unsafe_hash=True,
        )

    def expand(self, spec: Spec) -> list[Spec]:
        """Return the specs that `spec` stands for: a list in a scalar parameter is an axis."""
        name, params = self._parse(spec)
        kinds = {field.name: str(field.type) for field in _parameter_fields(self[name])}
        for key, value in params.items():
            if value == [] and "tuple" not in kinds.get(key, ""):
                raise SpecError(f"{self.family} {name!r}: {key}: the list is empty", "name a value")
        axes = [
            [(key, item) for item in value]
            if isinstance(value, list) and "tuple" not in kinds.get(key, "tuple")
            else [(key, value)]
            for key, value in params.items()
        ]
        if (count := math.prod(map(len, axes))) > limits.MAX_SPEC_COMPONENTS:
            message = f"{self.family} {name!r}: its lists combine to {count:,} components"
            raise SpecError(message, f"name fewer: {limits.MAX_SPEC_COMPONENTS:,} at most")
        if all(len(axis) == 1 for axis in axes) and isinstance(spec, str):
            return [spec]
        return [{name: dict(choice)} for choice in itertools.product(*axes)]

    def build(self, spec: Spec) -> T:
        """Return the component that `spec` describes, with its parameters checked.

        Raises:
            SpecError: the name or a parameter is unknown, or a value is not allowed.
        """
        name, params = self._parse(spec)
        cls = self[name]
        name = _dotted_names.get(cls) or str(cls.name)  # type: ignore[attr-defined]
        types = {field.name: str(field.type) for field in _parameter_fields(cls)}
        for param in params:
            if param not in types:
                parameter = {"k": "cut-off @k", "budget": "token budget @...t"}.get(
                    param, f"parameter {param!r}"
                )
                hint = suggest(param, types) if types else "it takes no parameters"
                raise SpecError(f"{self.family} {name!r} has no {parameter}", hint)
        for param, value in params.items():
            if isinstance(value, bool) and "bool" not in types[param]:
                # Where a number is wanted, pydantic would take `yes` for 1.
                word = "yes" if value else "no"
                raise SpecError(f"{self.family} {name!r}: {param}: `{word}` is no value of it")
        try:
            if not types:
                return cls()
            parsed = {key: _parse_value(value, types[key]) for key, value in params.items()}
            component: T = _adapter(cls).validate_python(parsed)  # type: ignore[arg-type]
            return component
        except ValidationError as error:
            messages = "; ".join(_describe_fault(fault) for fault in error.errors())
            raise SpecError(f"{self.family} {name!r}: {messages}") from None
        except Exception as error:
            if isinstance(error, HarnessError) or is_built_in(cls):
                raise
            message = f"{self.family} {name!r} cannot be made: {describe_error(error)}"
            raise SpecError(message, "correct its parameters, or its code") from None


def _members(contract: type) -> list[str]:
    """Return what a protocol asks for, in its order."""
    parts = [cls for cls in contract.__mro__ if cls.__module__.startswith("harness.")]
    names = dict.fromkeys(name for cls in parts for name in (*cls.__annotations__, *vars(cls)))
    return [name for name in names if not name.startswith("_")]


def _has_defaults(contract: type) -> bool:
    """Return whether a contract is a base class with defaults, and no protocol."""
    return not getattr(contract, "_is_protocol", False)


def _is_required(contract: type, member: str) -> bool:
    """Return whether a base class has no default for a member."""
    default = getattr(contract, member, None)
    return default is None or getattr(default, "__isabstractmethod__", False)


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    return tuple(entry for item in metadata.distributions() for entry in item.entry_points)


@cache
def _adapter(cls: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def parse(spec: Spec) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters that `spec` holds, unchecked.

    Raises:
        SpecError: `spec` has none of the three forms.
    """
    if isinstance(spec, str):
        return _parse_text_spec(spec)
    if not isinstance(spec, Mapping):
        raise SpecError(f"expected a name or a mapping, found {spec!r}")
    if len(spec) != 1:
        names = ", ".join(map(str, spec)) or "none"
        raise SpecError(f"expected one name, found {len(spec)}: {names}")
    ((text, params),) = spec.items()
    name, options = _parse_text_spec(str(text))
    if params is None:
        params = {}
    if not isinstance(params, Mapping):
        raise SpecError(f"the parameters of {name!r} must be a mapping, not {params!r}")
    return name, {**options, **{str(key): value for key, value in params.items()}}


def label(component: Any) -> str:
    """Return the spec of `component` as one short string; `Registry.build` reads it back."""
    params = {
        field.name: getattr(component, field.name)
        for field in _parameter_fields(type(component))
        if field.default is MISSING or getattr(component, field.name) != field.default
    }
    kinds = {field.name: str(field.type) for field in _parameter_fields(type(component))}
    cut = ""
    if params.get("k") is not None:
        cut = f"@{params['k']}"
    elif params.get("budget") is not None:
        cut = f"@{params['budget']}t"
    options = ", ".join(
        f"{key}={_format_value(value, kinds[key])}"
        for key, value in params.items()
        if not _is_cut(key, cut)
    )
    return spec_name(component) + (f"({options})" if options else "") + cut


def spec_name(component: Any) -> str:
    """Return what a component is called in a spec: its name, or the dotted name of its class."""
    return _dotted_names.get(type(component), str(component.name))


def summary(cls: type[Any]) -> str:
    """Return the first sentence of a component's docstring."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def description(cls: type[Any]) -> str:
    """Return the whole docstring of a component on one line."""
    return " ".join((cls.__doc__ or "").split())


def full_label(component: Any) -> str:
    """Return `component` with every parameter and its value, defaults too, for a person to read."""
    values = (
        f"{f.name}={_format_value(getattr(component, f.name), str(f.type))}"
        for f in _parameter_fields(type(component))
    )
    options = ", ".join(values)
    return spec_name(component) + (f"({options})" if options else "")


def parameters(cls: type[Any]) -> dict[str, str]:
    """Return the parameters of a component and their defaults, as text."""
    return {
        field.name: "required"
        if field.default is MISSING
        else _format_value(field.default, str(field.type))
        for field in _parameter_fields(cls)
    }


def _parameter_fields(cls: type[Any]) -> list[Field[Any]]:
    own: frozenset[str] = _ATTRIBUTES if cls in _dotted_names else frozenset()
    return [
        item
        for item in fields(cls)
        if item.init and _INJECTED not in item.metadata and item.name not in own
    ]


def _is_cut(key: str, cut: str) -> bool:
    return bool(cut) and key in ("k", "budget")


def _format_value(value: Any, kind: str) -> str:
    """Return a parameter's value as a label has it; `kind` is the type that its field declares."""
    if isinstance(value, tuple):
        return f"({', '.join(_format_value(part, '') for part in value)})"
    meant_as_text = isinstance(value, str) and value == "none" and "None" in kind
    if isinstance(value, str) and (meant_as_text or not _needs_no_quotes(value)):
        return json.dumps(value, ensure_ascii=False)
    return "none" if value is None else str(value)


def _needs_no_quotes(text: str) -> bool:
    """Return whether `text` can stand as an option's value without quotes around it."""
    whole = text == text.strip() and text.isprintable() and '"' not in text
    return whole and split_options(text) == [text] and split_options(f"{text},x") == [text, "x"]


class _Quoted(str):
    """A text that stood between quotes: `"none"` is no None."""


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return _Quoted(json.loads(text))
    except json.JSONDecodeError:
        raise SpecError(f"{text} is not a text between quotes", 'write \\" for a quote') from None


def _parse_value(value: Any, kind: str) -> Any:
    """Return `value`; texts that `_format_value` writes for None and tuples are read back."""
    if value == "none" and "None" in kind and not isinstance(value, _Quoted):
        return None
    if isinstance(value, str) and "tuple" in kind and value[:1] + value[-1:] == "()":
        return [_unquote(part.strip()) for part in split_options(value[1:-1])]
    return value


def _describe_fault(error: Any) -> str:
    where = ".".join(str(key) for key in error["loc"])
    if error["type"] == "missing":
        return "a cut-off is needed: @5" if where == "k" else f"{where}: it must be given"
    message = error["msg"].removeprefix("Value error, ")
    value = "" if error["type"] == "value_error" else f", not {error['input']!r}"
    return f"{where}: {message}{value}" if where else f"{message}"


def _parse_text_spec(text: str) -> tuple[str, dict[str, Any]]:
    if len(text) > limits.MAX_SPEC_CHARS:
        message = f"{text[: limits.MAX_VALUE_QUOTE_CHARS]!r}... has {len(text):,} characters"
        raise SpecError(
            message,
            f"{limits.MAX_SPEC_CHARS:,} at most; a mapping may hold more: {{name: {{...}}}}",
        )
    match = _SPEC_PATTERN.fullmatch(text)
    if not match:
        raise SpecError(f"{text!r} is not of the form name(option=value, ...)@k")
    params: dict[str, Any] = {}
    for option in split_options(match["options"] or ""):
        key, equals, value = option.partition("=")
        if not equals:
            raise SpecError(f"{text!r}: {option.strip()!r} is not of the form option=value")
        params[key.strip()] = _unquote(value.strip())
    if match["cut"]:
        params["budget" if match["t"] else "k"] = int(match["cut"])
    return match["name"], params


def split_options(options: str) -> list[str]:
    """Split at the commas that stand outside parentheses and quotes."""
    parts, depth, start = [], 0, 0
    for piece in _SEPARATORS.finditer(options):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "," and depth == 0:
            parts.append(options[start : piece.start()])
            start = piece.end()
    parts.append(options[start:])
    return [part for part in parts if part.strip()]
