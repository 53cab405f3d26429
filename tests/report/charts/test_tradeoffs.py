"""Quality against cost: the Pareto front, and what is counted as cost."""

from dataclasses import replace

from harness.report.charts import tradeoffs
from harness.report.run_view import View
from tests.support.changed_runs import with_cells, with_records


def test_the_front_is_what_no_other_beats_and_points_alike_are_both_on_it():
    spots = {"a": (1, 0.2), "b": (2, 0.5), "c": (2, 0.4), "d": (3, 0.5), "e": (4, 0.6)}
    points = [{"name": name, "cost": x, "mean": y} for name, (x, y) in spots.items()]

    marked = tradeoffs.mark_front([*points, points[1] | {"name": "b2"}])

    assert [point["name"] for point in marked if point["front"]] == ["a", "b", "e", "b2"]


def test_latency_is_the_median_and_tokens_the_mean_of_a_question(many):
    view = View(with_cells(many, lambda cell: replace(cell, embedder=None)))
    latency, tokens = tradeoffs.figure(view).drawings
    records = view.records(view.cells[0])
    used = [each.usage.tokens_in + (each.usage.tokens_out or 0) for each in records]
    taken = sorted(sum(each.seconds.values()) for each in records)

    assert (latency.label, tokens.label) == ("latency", "tokens")
    assert tokens.table.rows[0][2] == f"{sum(used) / len(used):,.0f} tokens"
    assert latency.table.rows[0][2] == f"{float(f'{taken[2] * 1000:.2g}'):g} ms"
    assert "milliseconds" in latency.wide
    on_front = [row[0] for row in tokens.table.rows if row[-1] == "yes"]
    assert on_front
    assert all(name in tokens.wide for name in on_front)


def test_what_is_not_known_is_not_drawn(many, one):
    plain = with_records(many, lambda record: replace(record, usage=None))
    timed = with_cells(plain, lambda cell: replace(cell, embedder=None))

    assert tradeoffs.figure(View(plain)) is None  # no seconds have the embedding of questions
    assert [each.label for each in tradeoffs.figure(View(timed)).drawings] == ["latency"]
    assert tradeoffs.figure(View(one)) is None  # nothing to compare
