"""Provenance: what the numbers were made with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.report.blocks import Block, Fold, Passage, Table
from harness.report.sections import sections
from harness.report.view import View


@sections.register
@dataclass(frozen=True)
class Provenance:
    """Versions, data, models and the configuration in full."""

    name: ClassVar[str] = "provenance"
    order: ClassVar[int] = 90
    title: ClassVar[str] = "Provenance"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a table of what matters most, and the rest behind folds."""
        about = view.run.provenance
        commit = about.git_commit or "not in git"
        rows = [
            ["Run", view.run.id],
            ["Started, ended", f"{view.run.started}, {view.run.ended}"],
            ["Harness", about.harness],
            ["Git commit", commit + (", with changes" if about.git_dirty else "")],
            ["Python, platform", f"{about.python}, {about.platform}"],
            ["Corpus", _pairs(about.corpus)],
            ["Test set", _pairs(about.testset)],
            ["Seed", str(about.seed)],
            ["Metric versions", _pairs({n: m.version for n, m in about.metrics.items()})],
            ["Packages", _pairs(about.packages)],
        ]
        said: list[Block] = [Table(["What", "Which"], rows, numeric=False)]
        cells = [[cell.name, cell.fingerprint] for cell in view.run.cells]
        if cells:
            table = Table(["Cell", "Fingerprint"], cells, numeric=False)
            said.append(Fold("Cells", [table]))
        said.append(Fold("Models", [Passage("", _json(about.models))]))
        said.append(Fold("Configuration", [Passage("", _json(view.run.config))]))
        return said


def _pairs(values: Mapping[str, object]) -> str:
    return "; ".join(
        f"{key} {value}" for key, value in values.items() if value not in ([], {}, None)
    )


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
