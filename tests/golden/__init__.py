"""The report of a small run as it was last looked at and found right: `report.md`.

After a change that is meant: `python -m tests.golden`, and look at the difference.
"""

from dataclasses import replace
from pathlib import Path

from harness import api
from harness.config.run_config import load
from harness.records import Outcome
from harness.report import markdown
from harness.report.run_view import View
from harness.report.sections import parts
from harness.runs import runner
from harness.store import reader
from harness.store.reader import StoredRun
from tests.support.small import project

GOLDEN = Path(__file__).parent / "report.md"
_METRICS = ["passage_recall@2", "hit_rate@2", "recall@2", "ndcg@2", "token_f1", "abstention"]


def rendered(folder: Path) -> str:
    """Run the small project in `folder` and return its report in Markdown."""
    config = project(folder, metrics=_METRICS, targets={"hit_rate@2": 0.8})
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    view = View(fixed(reader.load(finished.folder)))
    return markdown.render(view, parts(view))


def fixed(stored: StoredRun) -> StoredRun:
    """Return a run with all that changes from day to day and machine to machine set fast."""
    about = replace(
        stored.run.provenance,
        harness="0.0.0",
        python="3.11.0",
        platform="any",
        packages={"numpy": "2"},
        git_commit=None,
        git_dirty=None,
    )
    about.corpus.update(path="corpus")
    about.testset.update(path="testset.jsonl")
    config = {each: {**keys} for each, keys in stored.run.config.items()}
    for keys in config.values():
        keys.update(corpus="corpus", testset="testset.jsonl", output="reports", cache=".harness")
    cells = [replace(cell, seconds=dict.fromkeys(cell.seconds, 0.01)) for cell in stored.run.cells]
    run = replace(
        stored.run,
        id="20260101-000000-abcdef",
        started="2026-01-01T00:00:00+00:00",
        ended="2026-01-01T00:01:00+00:00",
        provenance=about,
        config=config,
        cells=cells,
        seconds=dict.fromkeys(stored.run.seconds, 1.0),
    )
    return replace(stored, run=run, records=tuple(map(_timeless, stored.records)))


def _timeless(record: Outcome) -> Outcome:
    return replace(record, seconds=dict.fromkeys(record.seconds, 0.01))
