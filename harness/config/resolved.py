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
from harness.metrics.named_metrics import NamedMetric, stored_kind
from harness.models.chat import ChatModel
from harness.testset import TestsetReader
from harness.testset.label_file import LabelFile


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
