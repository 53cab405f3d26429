"""Two runs, or two cells of one, held against each other question by question."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.comparing.changes import between_cells, changes
from harness.comparing.comparison import Compared, Comparison, Gap, Options, Row, Unpaired
from harness.comparing.contrast import Contrast
from harness.comparing.pairing import Pairing, pairings
from harness.comparing.rated import clusters, grades, rating
from harness.comparing.refusals import changed_metrics, check
from harness.comparing.sides import Incomparable, Side
from harness.errors import HarnessError, suggest
from harness.statistics.difference import Difference
from harness.statistics.differences import Pair, compare

FEW = 5
"""Of a segment with fewer questions nothing is said."""


def comparison(baseline: Side, run: Side, options: Options | None = None) -> Comparison:
    """Hold a run against a baseline; both may be the same side, whose cells are then compared.

    Raises:
        HarnessError: a metric or a cell that was asked for is not there.
        Incomparable: test set, corpus or a metric differ and may not; nothing is shared; or
            nothing says which cells belong together.
    """
    options = options or Options()
    both = _metrics(baseline, run, options.metrics)
    check(baseline, run, both, options.allow, advised=True)
    left_out = _alone(baseline, run, both) | changed_metrics(baseline, run, both)
    metrics = [name for name in both if name not in left_out]
    shared = [
        id_
        for id_, asked in run.questions.items()
        if id_ in baseline.questions and baseline.questions[id_].content == asked.content
    ]
    _something(baseline, run, metrics, shared)
    chosen = pairings(baseline, run, options.pairs)
    by = _deciding(baseline, run, metrics, options.metrics)
    contrasts = [Contrast(baseline, run, each, shared) for each in chosen]
    rows, family = _table(contrasts, metrics, run, options)
    _compared(baseline, run, contrasts, rows)
    wanted = [name for name in metrics if name in options.metrics] or [by]
    segments, segment_family = _by_segment(contrasts, wanted, run, options)
    finished = compare([each.finished() for each in contrasts], run.provenance.seed)
    known = baseline.questions.keys() & run.questions.keys()
    moved = known - set(shared)
    before, after, drawn = grades(baseline), grades(run), clusters(baseline, run)
    return Comparison(
        baseline=baseline,
        run=run,
        by=by,
        options=options,
        pairs=tuple(
            Compared(
                pairing=each.pairing,
                rows=tuple(rows[at]),
                segments=tuple(segments[at]),
                finished=Row("finished", *each.finished_shares(), finished[at]),
                lost=tuple(Gap(*gap) for gap in each.gaps(by) if gap[1] > gap[2]),
                won=tuple(Gap(*gap) for gap in each.gaps(by) if gap[1] < gap[2]),
                unpaired=tuple(Unpaired(*lone) for name in metrics for lone in each.unpaired(name)),
                untested=each.untested(metrics),
                differs=between_cells(each.left, each.right),
                people=rating(
                    before.get(each.pairing.baseline, {}),
                    after.get(each.pairing.run, {}),
                    shared,
                    {row.metric: row.difference for row in rows[at]},
                    drawn,
                    run.provenance.seed,
                ),
            )
            for at, each in enumerate(contrasts)
        ),
        shared=tuple(shared),
        only_baseline=tuple(id_ for id_ in baseline.questions if id_ not in known),
        only_run=tuple(id_ for id_ in run.questions if id_ not in known),
        changed=tuple(id_ for id_ in run.questions if id_ in moved),
        left_out=left_out | ({} if options.pairs else _cells_alone(baseline, run, chosen)),
        changes=() if baseline is run else changes(baseline, run),
        family=family,
        segment_family=segment_family,
    )


def _table(
    contrasts: Sequence[Contrast], metrics: Sequence[str], run: Side, options: Options
) -> tuple[list[list[Row]], int]:
    """Return each pair's rows, all of them one family, and its size."""
    places = [
        (at, name)
        for at, each in enumerate(contrasts)
        for name in metrics
        if name not in each.untested(metrics)
    ]
    tested, family = _tested([contrasts[at].pair(name) for at, name in places], run, options)
    rows: list[list[Row]] = [[] for _ in contrasts]
    for (at, name), found in zip(places, tested, strict=True):
        rows[at].append(Row(name, *contrasts[at].values(name), found))
    return rows, family


def _by_segment(
    contrasts: Sequence[Contrast], metrics: Sequence[str], run: Side, options: Options
) -> tuple[list[list[Row]], int]:
    """Return each pair's rows by category and difficulty, a family of their own, and its size."""
    places = [
        (at, name, way, segment, ids)
        for at, each in enumerate(contrasts)
        for name in metrics
        if name not in each.untested(metrics)
        for (way, segment), ids in each.segments().items()
        if len(each.pair(name, ids).left) >= FEW
    ]
    tested, family = _tested(
        [contrasts[at].pair(name, ids) for at, name, _, _, ids in places], run, options
    )
    rows: list[list[Row]] = [[] for _ in contrasts]
    for (at, name, way, segment, ids), found in zip(places, tested, strict=True):
        rows[at].append(Row(name, *contrasts[at].values(name, ids), found, way, segment))
    return rows, family


def _tested(pairs: Sequence[Pair], run: Side, options: Options) -> tuple[list[Difference], int]:
    found = compare(pairs, run.provenance.seed, test=options.test, correction=options.correction)
    return found, max((each.family for each in found), default=0)


def _metrics(baseline: Side, run: Side, wanted: Sequence[str]) -> list[str]:
    """Return the metrics that both sides have, those wanted if any are, in the run's order."""
    before, after = baseline.provenance.metrics, run.provenance.metrics
    for name in wanted:
        if name not in before and name not in after:
            hint = suggest(name, before.keys() | after.keys())
            raise HarnessError(f"--metric {name!r}: neither side was scored by it\n  {hint}")
        if name not in before or name not in after:
            lacking = run if name in before else baseline
            raise Incomparable(
                f"--metric {name!r}: {lacking.id} was not scored by it\n"
                f"  score it, if its run is at hand: python -m harness score RUN -m '{name}'"
            )
    return [name for name in after if name in before and (not wanted or name in wanted)]


def _alone(baseline: Side, run: Side, both: Collection[str]) -> dict[str, str]:
    """Return, of metrics that one side alone has, which one it is."""
    before, after = baseline.provenance.metrics, run.provenance.metrics
    found = {name: f"only {baseline.id} was scored by it" for name in before if name not in after}
    return found | {name: f"only {run.id} was scored by it" for name in after if name not in before}


def _cells_alone(baseline: Side, run: Side, chosen: Sequence[Pairing]) -> dict[str, str]:
    if baseline is run:
        return {}
    there, here = {each.baseline for each in chosen}, {each.run for each in chosen}
    found = {f"cell {name}": f"only in {baseline.id}" for name in baseline.cells.keys() - there}
    return found | {f"cell {name}": f"only in {run.id}" for name in run.cells.keys() - here}


def _something(baseline: Side, run: Side, metrics: Sequence[str], shared: Sequence[str]) -> None:
    """Raise `Incomparable` unless there is a metric and a question that both sides have."""
    if not shared:
        known = len(baseline.questions.keys() & run.questions.keys())
        why = f", though {known} have the same id: text or gold changed" if known else ""
        raise Incomparable(
            f"{run.id} and {baseline.id} share no question{why}\n  compare runs of one test set"
        )
    if not metrics:
        raise Incomparable(
            f"{run.id} and {baseline.id} share no metric\n"
            f"  score one again by the other's: python -m harness score RUN -m METRIC"
        )


def _compared(
    baseline: Side, run: Side, contrasts: Sequence[Contrast], rows: Sequence[Sequence[Row]]
) -> None:
    """Raise `Incomparable` where no metric has a value on both sides, though some could."""
    tried = [row.difference for some in rows for row in some]
    if not tried or any(each.difference is not None for each in tried):
        return
    failed = {
        side.id: sum(each.error is not None for cell in cells for each in cell.results.values())
        for side, cells in (
            (baseline, [each.left for each in contrasts]),
            (run, [each.right for each in contrasts]),
        )
    }
    said = "; ".join(f"{count} answers failed in {id_}" for id_, count in failed.items() if count)
    raise Incomparable(
        f"{run.id} and {baseline.id} have no value to compare: "
        f"{said or tried[0].reason}\n  find out why, and run it again"
    )


def _deciding(baseline: Side, run: Side, metrics: Sequence[str], wanted: Sequence[str]) -> str:
    preferred = [*wanted, run.decide_by, baseline.decide_by]
    return next((name for name in preferred if name in metrics), metrics[0])
