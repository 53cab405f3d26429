"""The configuration of a run once every component is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config.grid import Cell, SystemCell
from harness.config.prices import Prices
from harness.config.settings import Settings
from harness.corpus import CorpusReader
from harness.metrics import judge_of
from harness.metrics.named_metrics import NamedMetric, stored_kind
from harness.models.chat import ChatModel
from harness.protocols import Embedder
from harness.testset import TestsetReader
from harness.testset.label_file import LabelFile
from harness.text.arguments import Arguments


@dataclass(frozen=True)
class RunConfig:
    """A configuration in which every component is built and agrees with the others."""

    shown: str
    given: Mapping[str, Any]
    settings: Settings
    corpus: CorpusReader
    testset: TestsetReader
    cells: tuple[Cell, ...]
    systems: tuple[SystemCell, ...]
    metrics: tuple[NamedMetric, ...]
    baseline: Cell | SystemCell | None
    output: Path
    cache: Path
    chat: ChatModel | None
    """The model that components ask, and that drafts questions."""
    judge: ChatModel | None
    prices: Prices | None
    """What models cost, where a price file is named."""
    where: Callable[..., str] = field(repr=False, compare=False)
    """Names the place of a key, with its line: `where("metrics", 3)`."""
    traffic: Path | None = None
    """A file of questions people really ask."""
    folder: Path = Path()
    """Where the file lies."""
    people: LabelFile | None = None
    """Labels of people, of items of the run."""

    @property
    def decide_by(self) -> str:
        """The name of the metric that cells are ranked by."""
        ranking = [
            named.name for named in self.metrics if stored_kind(named.metric) != "descriptive"
        ]
        return self.settings.decide_by or next(iter([*ranking, self.metrics[0].name]))


_MODEL_ARGUMENTS = ("model", "model_name", "model_id", "azure_deployment", "deployment")
"""What classes of LangChain packages call the argument that names a model."""


def model_of(component: Any) -> ChatModel | None:
    """Return the chat model that a generator or a retriever asks, if it asks one."""
    get_model: Callable[[], ChatModel] | None = getattr(component, "asked_model", None)
    return None if get_model is None else get_model()


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
    arguments = Arguments(getattr(embedder, "arguments", ())).identity()
    model = next(
        (arguments[key] for key in _MODEL_ARGUMENTS if isinstance(arguments.get(key), str)), None
    )
    return f"{package.removeprefix('langchain_')}:{model or name.rpartition('.')[2]}"


def models_of_cell(cell: Cell | SystemCell) -> tuple[str | None, list[str]]:
    """Return the name of the model that answers in a cell, and those that its retriever asks."""
    if isinstance(cell, SystemCell):
        return None, []
    answer_model, search_model = model_of(cell.generator), model_of(cell.retriever)
    others = [] if search_model is None else [search_model.shown]
    return (None if answer_model is None else answer_model.shown), others


def models_of_run(config: RunConfig) -> list[str]:
    """Return the names of all models that a run asks, its judge's among them."""
    names: list[str | None] = []
    for cell in config.cells:
        answer_model, others = models_of_cell(cell)
        names += [answer_model, *others]
    judges = [judge_of(named.metric) for named in config.metrics]
    names += [judge.shown for judge in judges if judge is not None]
    return [name for name in dict.fromkeys(names) if name is not None]
