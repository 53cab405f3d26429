"""Whether every machine of a cluster can do its part: looked at before any work starts."""

from __future__ import annotations

import json
import platform
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness import provenance
from harness.cluster.connecting import imported
from harness.errors import HarnessError, RunError
from harness.fingerprint import identity_of, source_id, versions
from harness.models import weights_id
from harness.runtime import choice, processor
from harness.runtime.choice import Choice
from harness.shared import Shared
from harness.sweep import Cell

_PATIENCE = 120.0
"""Seconds in which every machine must have said what it is: its libraries may have to load."""
_SHOWN = 20
_SHARE = 1 / 16
"""So many pieces of work use a card at once, at most."""


@dataclass(frozen=True)
class Node:
    """One machine of a cluster."""

    id: str
    name: str
    cpus: int
    gpus: int


@dataclass(frozen=True)
class Asked:
    """What a machine is asked: its parts' identities, and to find what lies in the store."""

    store: str
    canary: str
    content: bytes
    parts: Sequence[Any]
    """A reference to the components that need models; another version may be unable to read it."""
    choices: Mapping[choice.Asked, Choice]


@dataclass(frozen=True)
class Facts:
    """What a machine says of itself."""

    versions: Mapping[str, str | None]
    models: Mapping[str, str]
    store: str
    """What the store holds there is what was put in: empty; else what is wrong."""


def nodes() -> list[Node]:
    """Return the machines of the cluster that can do work."""
    found = [each for each in imported().nodes() if each["Alive"] and each["Resources"].get("CPU")]
    return [
        Node(
            each["NodeID"],
            each.get("NodeName") or each["NodeManagerAddress"],
            int(each["Resources"]["CPU"]),
            int(each["Resources"].get("GPU", 0)),
        )
        for each in found
    ]


def share() -> float:
    """Return how much of a graphics card each piece of work asks for; 0: it sees none.

    Numbers made on a card are other numbers, so either all machines use theirs or none does: what
    the run's own machine has decides.
    """
    return _SHARE if processor.device() == "cuda" else 0


def usable(found: Sequence[Node]) -> list[Node]:
    """Return the machines whose numbers are those of the run's own.

    Raises:
        RunError: there is none.
    """
    chosen = [each for each in found if each.gpus or not share()]
    if not chosen:
        lacks = "a graphics card, as the run's own has" if found else "a processor to work with"
        raise RunError(
            f"execution: no machine of the cluster has {lacks}\n"
            "  start machines of one kind, or the run on one like those there are"
        )
    return chosen


def here() -> dict[str, str | None]:
    """Return the versions of all that shapes numbers on this machine."""
    own = {"harness, by its source": source_id(), "python": platform.python_version()}
    return {**own, **versions(*provenance.PACKAGES, "fsspec", "ray")}


def needed(cells: Sequence[Cell], metrics: Sequence[Any]) -> list[Any]:
    """Return the components whose models a machine must have."""
    named = [
        part
        for cell in cells
        for part in (cell.chunker, cell.embedder, cell.retriever, cell.reranker, cell.generator)
    ]
    named += [metric for metric in metrics if hasattr(metric, "identity")]
    return [each for each in dict.fromkeys(named) if each is not None]


def identities(parts: Sequence[Any]) -> dict[str, str]:
    """Return what each component is here, or why it cannot be used."""
    found: dict[str, str] = {}
    for part in parts:
        try:
            about: dict[str, Any] = {"of": identity_of(part)}
            tokenizer = getattr(part, "tokenizer", None)
            if tokenizer is not None:
                about["tokenizer"] = weights_id(tokenizer)
            found[f"{part.name} ({len(found)})"] = json.dumps(about, sort_keys=True, default=str)
        except HarnessError as error:
            found[f"{part.name} ({len(found)})"] = f"! {error}"
    return found


def facts(asked: Asked) -> Facts:
    """Return what this machine, one of the cluster's, is."""
    choice.adopt(asked.choices)
    own = here()
    store = _canary(asked)
    try:
        models = identities(imported().get(asked.parts[0]))
    except Exception as error:  # noqa: BLE001  another version fails in any way; it is named
        models = {"the configuration": f"! cannot be read there: {type(error).__name__}: {error}"}
    return Facts(own, models, store)


def _canary(asked: Asked) -> str:
    try:
        shared = Shared(asked.store)
        if shared.read(f"{asked.canary}-run") != asked.content:
            return "what the run put there is not there"
        node = imported().get_runtime_context().get_node_id()
        shared.write(f"{asked.canary}-{node}", asked.content[::-1])
    except (HarnessError, OSError) as error:
        return str(error)
    return ""


def check(found: Sequence[Node], shared: Shared, store: str, parts: Sequence[Any]) -> None:
    """Ask every machine, all at once.

    Raises:
        RunError: with all that stands against any of them.
    """
    own, models = here(), identities(parts)
    canary, content = f"canary-{secrets.token_hex(8)}", secrets.token_bytes(32)
    asked = Asked(store, canary, content, [imported().put(list(parts))], choice.used())
    try:
        shared.write(f"{canary}-run", content)
        said = _ask(found, asked)
        lost = {each.id for each in found if shared.read(f"{canary}-{each.id}") != content[::-1]}
    finally:
        for name in ("run", *(each.id for each in found)):
            shared.remove(f"{canary}-{name}")
    problems: list[str] = []
    for node in found:
        told = said[node.id]
        if isinstance(told, str):
            problems.append(f"{node.name}: {told}")
            continue
        problems += [f"{node.name}: {each}" for each in _differing(own, told.versions)]
        if told.store:
            problems.append(f"{node.name}: the store {store!r} is not shared: {told.store}")
        elif node.id in lost:
            problems.append(f"{node.name}: what it puts into the store does not arrive here")
        if told.versions == own:
            problems += [f"{node.name}: {each}" for each in _lacking(models, told.models)]
    if problems:
        more = len(problems) - _SHOWN
        lines = [*problems[:_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]
        said_so = "\n".join(f"  {line}" for line in lines)
        raise RunError(
            "execution: machines of the cluster cannot do this run's work; nothing was spent\n"
            f"{said_so}\n  install the same versions, put models in the same places, and name a "
            "`store` that every machine reaches"
        )


def _ask(found: Sequence[Node], asked: Asked) -> dict[str, Facts | str]:
    ray = imported()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(facts)
    refs = {
        task.options(
            num_cpus=0,
            num_gpus=share(),
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        ).remote(asked): node.id
        for node in found
    }
    done, late = ray.wait(list(refs), num_returns=len(refs), timeout=_PATIENCE)
    said: dict[str, Facts | str] = {
        refs[each]: f"said nothing within {_PATIENCE:.0f} seconds" for each in late
    }
    for each in done:
        try:
            said[refs[each]] = ray.get(each)
        except ray.exceptions.RayError as error:
            last = str(error).strip().splitlines()[-1]
            said[refs[each]] = f"the harness cannot be loaded there: {last}"
    return said


def _differing(own: Mapping[str, str | None], other: Mapping[str, str | None]) -> Iterator[str]:
    for name in sorted({*own, *other}):
        if own.get(name) != other.get(name):
            there, ours = other.get(name) or "none", own.get(name) or "none"
            yield f"{name} is {there} there, {ours} here"


def _lacking(own: Mapping[str, str], other: Mapping[str, str]) -> Iterator[str]:
    for name, what in other.items():
        if what.startswith("!"):
            yield what.removeprefix("! ").replace("\n", " ")
        elif own.get(name) != what:
            yield f"the model of {name} is another there"
