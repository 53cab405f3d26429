"""The best cell against the others."""

import pytest

from harness.report.charts import differences_chart
from harness.report.charts.differences_chart import PlottedDifference
from harness.report.document import Mark


def drawn(*rows):
    made = [
        PlottedDifference(f"c{at}", value, value - 0.1, value + 0.1, Mark(1, 0), sure)
        for at, (value, sure) in enumerate(rows)
    ]
    return differences_chart.figure("best", "ndcg@10", made).drawings[0]


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([(0.2, True)], "best beats the other"),
        ([(0.2, True), (0.3, True)], "best beats all 2 others"),
        (
            [(0.2, True), (0.1, False)],
            "best is shown to beat 1 of 2 others; 1 is too close to call",
        ),
        ([(0.1, False)], "best is not shown to beat the other"),
        ([(0.1, False), (0, False)], "best is not shown to beat any of the 2 others"),
        ([(0.2, True), (-0.2, True)], "best beats 1 of 2 others; 1 of them beat it"),
    ],
)
def test_the_title_counts_what_was_shown(rows, title):
    assert drawn(*rows).title == title


def test_what_is_not_significant_is_hollow():
    assert 'fill="#c2570c" stroke="#c2570c"' in drawn((0.2, True)).wide
    assert 'fill="#ffffff" stroke="#c2570c"' in drawn((0.2, False)).wide


def test_figures_are_signed_and_an_interval_may_be_missing():
    row = PlottedDifference("c", -0.25, -0.35, -0.15, Mark(0, 1), False, 0.0123, 15)
    other = PlottedDifference("d", 0.0, None, None, Mark(0, 1), False)
    drawing = differences_chart.figure("best", "m", [row, other]).drawings[0]

    assert drawing.table.rows[0] == ["c", "−0.25", "−0.35 to −0.15", "0.01", "15"]
    assert "−0.25 (−0.35 to −0.15)" in drawing.narrow


def test_there_is_none_without_others():
    assert differences_chart.figure("best", "ndcg@10", []) is None
