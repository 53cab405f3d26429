"""The chat models that the parts of a run ask, by the names that prices go by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.arguments import Arguments
from harness.chat import ChatModel
from harness.config import RunConfig
from harness.embedders import Embedder
from harness.metrics import Asking
from harness.sweep import Cell, SystemCell

_MODEL = ("model", "model_name", "model_id", "azure_deployment", "deployment")
"""What classes of LangChain packages call the argument that names a model."""


def model_of(component: Any) -> ChatModel | None:
    """Return the chat model that a generator or a retriever asks, if it asks one."""
    found: Callable[[], ChatModel] | None = getattr(component, "asked_model", None)
    return None if found is None else found()


def embedding_model(embedder: Embedder) -> str | None:
    """Return the name of the model that an embedder may pay for; None where it pays for none.

    Whether a class of a LangChain package asks a server is not known, so any may; those of
    LangChain itself ask nobody.
    """
    cls = getattr(embedder, "cls", None)
    if not isinstance(cls, str):
        return None
    package, _, name = cls.replace(":", ".").partition(".")
    if package == "langchain_core":
        return None
    given = Arguments(getattr(embedder, "arguments", ())).identity()
    model = next((given[key] for key in _MODEL if isinstance(given.get(key), str)), None)
    return f"{package.removeprefix('langchain_')}:{model or name.rpartition('.')[2]}"


def of_cell(cell: Cell | SystemCell) -> tuple[str | None, list[str]]:
    """Return the name of the model that answers in a cell, and those that its retriever asks."""
    if isinstance(cell, SystemCell):
        return None, []
    answering, searching = model_of(cell.generator), model_of(cell.retriever)
    others = [] if searching is None else [searching.shown]
    return (None if answering is None else answering.shown), others


def of_run(config: RunConfig) -> list[str]:
    """Return the names of all models that a run asks, its judge's among them."""
    named: list[str | None] = []
    for cell in config.cells:
        answering, others = of_cell(cell)
        named += [answering, *others]
    judges = [each.metric.judge for each in config.metrics if isinstance(each.metric, Asking)]
    named += [judge.shown for judge in judges if judge is not None]
    return [each for each in dict.fromkeys(named) if each is not None]
