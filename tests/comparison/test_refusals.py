"""What a score is counted by: a change of it is refused, cuts a history and ends a pool."""

from dataclasses import replace

import pytest

from harness.comparison.compare_runs import Options, compare_operands
from harness.comparison.gate import judgement, pooling
from harness.comparison.history.series import history
from harness.comparison.operand import Incomparable
from harness.comparison.refusals import describe_difference, metric_identity
from harness.config.gate_rules import Drop, Gate
from harness.store.run_file import RUN_FORMAT, MetricDescription, QuestionSample
from tests.support.compared import side
from tests.support.history_made import night

HIT, F1, ABSTAINS = "hit_rate@5", "token_f1", "abstention"
SCORES = {"A": {HIT: [1.0] * 8, F1: [0.5] * 8, ABSTAINS: [1.0] * 8}}
CHANGES = [
    ({"min_overlap": 0.9}, HIT, "min_overlap 0.5, now min_overlap 0.9"),
    ({"relevance_level": 2}, HIT, "relevance_level 1, now relevance_level 2"),
    ({"decline_patterns": ["^no$"]}, ABSTAINS, "`decline_patterns` are others"),
]


def line(name, labels=None):
    return MetricDescription(
        spec=name, version=1, kind="quality", labels=labels, own_chunks=False,
        within_chunker=False, about="",
    )  # fmt: skip


def lines(labels="evidence"):
    return {HIT: line(HIT, labels), F1: line(F1), ABSTAINS: line(ABSTAINS)}


def made(id_="new", labels="evidence", **resolved):
    about = {"metrics": lines(labels), "labels": labels}
    return side(SCORES, id_, about=about, resolved=resolved)


@pytest.mark.parametrize(("changed", "metric", "said"), CHANGES)
def test_a_setting_that_changes_what_a_metric_means_refuses_that_metric_alone(
    changed, metric, said
):
    with pytest.raises(Incomparable) as refused:
        compare_operands(made("old"), made(**changed))

    assert f"metric {metric}: {said}" in str(refused.value)
    found = compare_operands(made("old"), made(**changed), Options(allow=["metrics"]))
    assert found.left_out == {metric: said}
    assert {row.metric for row in found.pairs[0].rows} == SCORES["A"].keys() - {metric}


def test_another_kind_of_label_is_another_metric():
    with pytest.raises(Incomparable, match=f"metric {HIT}: labels evidence, now labels documents"):
        compare_operands(made("old"), made(labels="documents"))


def test_a_gate_refuses_it_and_advises_no_option_that_it_does_not_have():
    gate = Gate(fail_if=[Drop(HIT, 0.02)])

    with pytest.raises(Incomparable, match=r"min_overlap 0\.5, now min_overlap 0\.9") as refused:
        judgement.judge(gate, made(min_overlap=0.9), made("old"))

    assert refused.value.status == 3
    assert "--allow" not in str(refused.value)
    assert "run with the baseline's settings" in str(refused.value)
    assert judgement.judge(gate, made(decline_patterns=["^no$"]), made("old")).status == 0


def test_a_setting_that_is_not_stored_has_its_default():
    of_old = metric_identity(line(HIT, "evidence"), "evidence", [], {})
    of_new = metric_identity(
        line(HIT, "evidence"), "evidence", [], {"resolved": {"min_overlap": 0.5, "seed": 8}}
    )

    assert describe_difference(of_old, of_new) == ""


@pytest.mark.parametrize("broken", [{"resolved": 5}, {"resolved": None}, {}])
def test_a_stored_configuration_that_is_none_says_nothing(broken):
    assert metric_identity(line(HIT, "evidence"), "evidence", [], broken)["min_overlap"] == 0.5


def test_a_combined_metric_depends_on_what_its_parts_may_depend_on():
    one, two = (
        metric_identity(line("composite"), "evidence", [], {"resolved": {"min_overlap": each}})
        for each in (0.5, 0.9)
    )

    assert describe_difference(one, two) == "min_overlap 0.5, now min_overlap 0.9"


@pytest.mark.parametrize(("changed", "metric", "said"), CHANGES)
def test_in_a_history_it_starts_a_new_segment_of_that_metric_alone(tmp_path, changed, metric, said):
    for at in range(4):
        means = {name: 0.5 for name in SCORES["A"]}
        night(tmp_path, at, {"A": means}, metrics=lines(), config=changed if at >= 2 else {})

    found = {series.metric: series for series in history(tmp_path).series}

    for name, series in found.items():
        runs = [each.runs for each in series.segments]
        assert runs == ([(0, 1), (2, 3)] if name == metric else [(0, 1, 2, 3)])


@pytest.mark.parametrize("about", ["version", "labels"])
def test_a_pool_ends_at_a_change_of_a_metric_and_not_at_other_words_for_it(tmp_path, about):
    part = QuestionSample(size=1, of=2, seed=7, day=None)
    changes = [{"about": "old words"}, {"about": "new words"}, {about: 9 if about == "version" else
               "documents"}]  # fmt: skip
    heads = []
    for at, change in enumerate(changes):
        metrics = {HIT: replace(line(HIT, "evidence"), **change)}
        path = night(tmp_path, at, {"A": {HIT: 0.5}}, metrics=metrics, sample=part)
        heads.append(RUN_FORMAT.parse((path / "run.json").read_text()))

    assert pooling.find_change(heads[0], heads[1]) == ""
    assert pooling.find_change(heads[1], heads[2]) == "a metric changed"
