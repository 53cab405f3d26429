"""A folder of stored runs with scores that a test chose: each has a `run.json` and nothing else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from harness.store.run_file import RUN_FORMAT
from tests.support.runs_made import stored

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)


def night(folder, number, scores, status="finished", sample=None, **about):
    """Write the run of a night; `scores` is {cell: {metric: mean}}, `about` goes to provenance.

    `config` replaces the resolved configuration, `width` is that of each interval.
    """
    width, config = about.pop("width", 0.1), about.pop("config", {})
    run = stored({name: {m: [v] for m, v in by.items()} for name, by in scores.items()}).run
    began = FIRST + timedelta(days=number)
    cells = [
        replace(cell, asked=20, scores={m: _wide(s, width) for m, s in cell.scores.items()})
        for cell in run.cells
    ]
    known = {"corpus": {"hash": "c", "documents": 3}, "testset": {"hash": "t", "questions": 20}}
    run = replace(
        run,
        id=f"{began:%Y%m%d-%H%M%S}-abcdef",
        started=began.isoformat(),
        ended=began.isoformat(),
        status=status,
        cells=cells,
        config={"resolved": config},
        sample=sample,
        provenance=replace(run.provenance, **(known | about)),
    )
    path = folder / run.id
    path.mkdir(parents=True)
    (path / "run.json").write_text(RUN_FORMAT.text(run), encoding="utf-8")
    return path


def nights(folder, means, **about):
    """Write a night for each mean of one metric of one cell."""
    return [
        night(folder, at, {"dense": {"mrr@10": mean}}, **about) for at, mean in enumerate(means)
    ]


def _wide(score, width):
    if score.mean is None:
        return score
    ends = {"low": max(0.0, score.mean - width / 2), "high": min(1.0, score.mean + width / 2)}
    return replace(score, **(ends | {"n": 20, "method": "t"}))
