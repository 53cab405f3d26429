"""Metrics that read with a model say how many texts it did not read to their ends."""

import pytest

from harness.metrics import ScoringContext, metrics
from harness.records import Answer, Case, Question

pytestmark = pytest.mark.slow
FACT = "The harbour of the old town opens at nine in the morning. "


def case(answer, *references):
    return Case(Question("q", "?", answers=references), answer=Answer(answer))


@pytest.mark.parametrize("name", ["semantic_similarity", "bertscore_f1"])
def test_texts_that_the_model_does_not_read_whole_are_counted_in_the_reason(name):
    long = FACT * 60
    cases = [
        case(FACT, FACT, "It is shut."),
        case(FACT, long, "It is shut."),
        case(long + "nonsense and more of it " * 100, long),
    ]
    short, one, both = metrics.build(name).score_all(cases, ScoringContext())

    assert "not read whole" not in short.reason
    assert one.reason.endswith("1 of 3 texts not read whole")
    assert both.reason.endswith("2 of 2 texts not read whole")
    # What stands behind the model's window changes nothing: this is why it is said.
    assert both.value == pytest.approx(1.0, abs=1e-5)
