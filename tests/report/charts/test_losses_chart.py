"""Stacked bars of what each stage lost."""

from dataclasses import replace

from harness.records import Failure
from harness.report.charts import losses_chart
from harness.report.run_view import View
from tests.support.changed_runs import lost, with_records

STAGES = {"day": "none", "docks": "retrieval", "age": "retrieval", "helmet": "generation"}


def counts(view):
    found = losses_chart.count_losses(view, view.cells[0])
    return {stage: count for stage, count in found.items() if count}


def test_each_question_with_evidence_is_counted_once_and_the_largest_loss_named(many):
    view = View(lost(many, STAGES))
    drawing = losses_chart.figure(view).drawings[0]

    assert counts(view) == {"none": 1, "retrieval": 2, "generation": 1}
    assert drawing.title == f"Retrieval loses 2 of 4 questions of {view.name(view.best)}"


def test_failed_ones_stand_beside_unless_they_could_not_be_answered_anyway(many):
    error = Failure(stage="generation", reason="gone")
    failed = with_records(
        lost(many, {"day": "none"}),
        lambda record: replace(record, error=error if record.question in ("age", "ceo") else None),
    )

    assert counts(View(failed)) == {"none": 1, "failed": 1}
    assert "&amp;evidence=1" in losses_chart.figure(View(failed)).drawings[0].wide


def test_segments_lead_to_their_questions(many):
    drawing = losses_chart.figure(View(lost(many, STAGES))).drawings[0]

    for number in range(4):
        assert f'href="#questions?lost=retrieval&amp;cell={number}"' in drawing.wide
    assert drawing.wide.count("<a ") == drawing.narrow.count("<a ") == 12
    assert drawing.wide.count('aria-label="retrieval: 2, ') == 4


def test_nothing_lost_is_said_as_such_and_nothing_followed_is_not_drawn(many):
    drawing = losses_chart.figure(View(lost(many, dict.fromkeys(STAGES, "none")))).drawings[0]

    assert drawing.title.endswith(" lost none of 4 questions")
    assert losses_chart.figure(View(lost(many, {}))) is None
