"""The benchmarks: each row can be found, and what they measure with is sound."""

import copy
import importlib
import json
import math

import pytest

from benchmarks import corpora, edited, figures, gpu, table
from benchmarks.commands import python


@pytest.mark.parametrize("name", list(table.ROWS))
def test_each_row_names_a_function(name):
    module, function = table.ROWS[name].split(":")

    assert callable(getattr(importlib.import_module(f"benchmarks.{module}"), function))


def test_a_ratio_is_the_median_over_rounds_and_not_the_ratio_of_medians():
    found = figures.ratio("work", [(1.0, 4.0), (3.0, 2.0), (2.0, 5.0)], bound=0.5)

    assert found.value == 0.4
    assert found.measured == "2.00 s / 4.00 s"
    assert found.runs == 3


@pytest.mark.parametrize(("value", "over"), [(0.9, False), (1.0, False), (1.1, True)])
def test_a_figure_is_over_above_its_bound_only(value, over):
    assert figures.Figure("work", value, bound=1.0).over is over


def test_a_figure_that_is_no_number_is_over_its_bound():
    assert figures.Figure("work", math.nan, bound=1.0).over


def test_the_exit_status_says_that_one_figure_is_over(capsys):
    good, bad = figures.Figure("good", 1.0, 2.0), figures.Figure("bad", 3.0, 2.0)

    assert table.show([good]) == 0
    assert table.show([good, bad]) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("OVER")


def test_an_unknown_row_is_refused(capsys):
    assert table.main(["colt"]) == 2
    assert "no such row: colt" in capsys.readouterr().out


def test_the_sides_are_measured_in_turn():
    order = []

    def side(name, seconds):
        order.append(name)
        return seconds

    pairs = figures.in_turn(lambda: side("a", 1.0), lambda: side("b", 2.0), runs=2)

    assert order == ["a", "b", "a", "b"]
    assert pairs == [(1.0, 2.0), (1.0, 2.0)]


def test_a_made_corpus_is_always_the_same_and_its_documents_differ():
    first, again = list(corpora.texts(3, 2_000)), list(corpora.texts(3, 2_000))

    assert first == again
    assert len(set(first)) == 3
    assert all(2_000 <= len(text) < 4_000 for text in first)


def test_another_seed_makes_another_corpus():
    assert list(corpora.texts(2, 500)) != list(corpora.texts(2, 500, seed=8))


def test_evidence_of_a_wide_corpus_is_where_it_says(tmp_path):
    corpora.wide(tmp_path, documents=5, questions=3)
    lines = (tmp_path / "corpus.jsonl").read_text().splitlines()
    texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    asked = [json.loads(line) for line in (tmp_path / "testset.jsonl").read_text().splitlines()]

    assert len(asked) == 3
    for row in asked:
        (place,) = row["evidence"]
        assert texts[place["doc"]][place["start"] : place["end"]] == place["quote"]
        assert place["quote"].endswith(").")


def test_ten_windows_or_more_are_in_each_wide_document():
    lengths = [len(text) for text in corpora.texts(20, 7_700)]

    assert all(length / 800 > 9 for length in lengths)
    assert sum(-(-length // 800) for length in lengths) >= 200


def test_an_edit_changes_few_chunks():
    (text,) = corpora.texts(1, 7_700)
    before, after = set(edited.pieces(text)), set(edited.pieces(edited.edit(text)))

    assert 1 <= len(after - before) <= 3
    assert len(after & before) >= 7


def test_a_command_is_measured_as_a_process_of_its_own():
    done = python("-c", "bytearray(100 << 20); print('done')")

    assert done.printed == "done\n"
    assert done.megabytes >= 100
    assert done.seconds > 0


def test_a_command_that_fails_is_no_measurement():
    with pytest.raises(RuntimeError, match="exit 3"):
        python("-c", "raise SystemExit(3)")


def test_operations_of_an_encoder_are_those_of_its_products():
    class Config:
        hidden_size, intermediate_size, num_hidden_layers = 2, 3, 5

    # A layer: 28 weights (four 2 x 2 and two 2 x 3); 7 tokens each attend to 7.
    assert gpu.flops(Config, 7) == 5 * (7 * 2 * 28 + 7 * 7 * 4 * 2)


def test_without_a_card_the_benchmark_says_so_and_is_no_failure(capsys, monkeypatch):
    monkeypatch.setattr(gpu.processor, "device", lambda: "cpu")

    assert gpu.main([]) == 0
    assert capsys.readouterr().out == f"{gpu.NO_CARD}\n"


def test_its_figures_replace_those_of_before_and_nothing_else(tmp_path):
    page = tmp_path / "scale.md"
    page.write_text("# Scale\n\nOne machine.\n")

    gpu.written("first", page)
    page.write_text(page.read_text() + "\nAfter.\n")
    gpu.written("second \\1", page)

    assert page.read_text() == (
        "# Scale\n\nOne machine.\n\n## GPU\n\n<!-- gpu: begin -->\nsecond \\1\n"
        "<!-- gpu: end -->\n\nAfter.\n"
    )


def test_a_row_of_it_is_made_of_medians_over_rounds():
    found = gpu.Speed("short", 10, 1_000, 2e9, [(1.0, 4.0), (2.0, 2.0), (4.0, 2.0)])

    assert list(gpu._table([found], ceiling=1e10))[-1] == (
        "| 10 short | 100 | 500 (250–1,000) | 10 % | 500 (250–500) | 1.00 (0.50–4.00) |"
    )


@pytest.mark.slow
def test_the_same_is_measured_on_the_processor(tmp_path):
    pytest.importorskip("torch")
    from harness.models.model_files import DEFAULT_MODEL
    from harness.models.runtime import sentence_models

    model = copy.deepcopy(sentence_models.load(DEFAULT_MODEL))
    del model[0].auto_model.encoder.layer[1:]
    model[0].auto_model.config.num_hidden_layers = 1
    model.save(str(tmp_path), create_model_card=False)
    said = gpu.measured(str(tmp_path), "cpu", rounds=1, count=2, size=64)

    assert f"{tmp_path.name} on " in said
    assert "of two 64 × 64 matrices" in said
    assert [line[:10] for line in said.splitlines() if line.startswith("| 2 ")] == [
        "| 2 short ", "| 2 mixed ", "| 2 long |",
    ]  # fmt: skip
    assert "over 2 questions and 2 passages" in said
