"""Histograms of scores and of the lengths of chunks."""

from dataclasses import replace

from harness.report.charts import histograms
from harness.report.run_view import View
from harness.store.cell_results import ChunkLengths
from tests.support.changed_runs import with_cells, with_records


def lengths(median, bins=(1, 2)):
    return ChunkLengths(chunks=3, median=median, shortest=20, longest=90, bins=list(bins), width=50)


def test_tenths_hold_their_lower_end_and_the_last_1_too():
    values = [0.0, 0.09, 0.1, 0.3, 0.7, 0.95, 1.0, 1.0]

    assert histograms.count_tenths(values) == (2, 1, 0, 1, 0, 0, 0, 1, 0, 3)


def test_the_title_counts_the_perfect_and_the_lost(many):
    best = View(many).best.name
    values = {"day": 1.0, "docks": 0.0, "age": 0.0, "helmet": 0.5}

    def change(record):
        line = record.scores["passage_recall@2"]
        value = values.get(record.question) if record.cell == best else None
        line = replace(line, value=value, state="not_scored" if value is None else "scored")
        return replace(record, scores={**record.scores, "passage_recall@2": line})

    drawing = histograms.scores(View(with_records(many, change))).drawings[0]

    assert drawing.title.startswith("The mean hides two groups: ")
    assert drawing.title.endswith(" is perfect on 1 question and at 0 on 2")
    assert drawing.table.rows[0][1:] == [*"2000010001", "2", "1", "4"]


def test_there_is_a_histogram_a_chunker_and_none_for_what_is_not_known(many):
    made = {"markdown": lengths(50.0), "fixed(size=60)": None}
    view = View(with_cells(many, lambda cell: replace(cell, lengths=made[cell.chunker])))
    without = View(with_cells(many, lambda cell: replace(cell, lengths=None)))

    drawing = histograms.lengths(view).drawings[0]
    assert drawing.title == "Half of the 3 chunks have 50 characters or more"
    assert drawing.table.rows == [["markdown", "3", "20", "50", "90"]]
    assert "3 chunks, median 50" in drawing.wide
    assert histograms.lengths(without) is None


def test_the_title_compares_medians(many):
    made = {"markdown": lengths(40.0), "fixed(size=60)": lengths(60.0, (0, 2))}
    view = View(with_cells(many, lambda cell: replace(cell, lengths=made[cell.chunker])))

    assert histograms.lengths(view).drawings[0].title == (
        "markdown cuts shorter chunks than fixed(size=60): median 40 characters against 60"
    )
