"""The chart of recall and precision over k."""

from dataclasses import replace

from harness.report.charts import curves_chart
from harness.report.run_view import View
from tests.support.changed_runs import with_records


def test_title_and_table_say_the_mean_at_what_is_sent(many):
    view = View(many)
    drawing, other = curves_chart.figure(view).drawings
    mean = view.score(view.best).mean
    best = view.cells.index(view.best)

    assert (drawing.label, other.label) == ("recall", "precision")
    share = f"{100 * mean:.0f}\u00a0%"
    assert drawing.title == f"The first 2 results hold {share} of the passages whole"
    assert drawing.table.head == ["Configuration", "@1", "@2", "@3", "@5", "n"]
    assert drawing.table.rows[best][2] == f"{mean:.3f}"
    assert drawing.table.rows[best][-1] == "4"
    assert "sent to the prompt" in drawing.wide
    assert "sent to the prompt" in drawing.narrow
    assert view.name(view.best) in drawing.wide


def test_a_system_that_does_not_tell_what_it_retrieved_has_none(many):
    hidden = with_records(many, lambda record: replace(record, ranked=False))

    assert curves_chart.figure(View(hidden)) is None


def test_one_cell_has_its_curves(one):
    assert len(curves_chart.figure(View(one)).drawings) == 2
