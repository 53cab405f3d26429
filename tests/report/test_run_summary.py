"""What the terminal says of a run: the verdict first, 100 columns, no colour, nothing obeyed."""

import shutil
from dataclasses import replace

import pytest

from harness import api
from harness.config.run_config import load
from harness.report import run_summary, terminal
from harness.report.run_view import View
from harness.runs import runner
from harness.store import reader
from harness.store.outcome_file import OUTCOME_FORMAT
from harness.store.reader import QUESTION_FORMAT
from harness.store.run_file import RUN_FORMAT
from tests.support.many import many
from tests.support.small import QUESTIONS, project


def summary(folder):
    return terminal.render(run_summary.blocks(folder, View(reader.load(folder))))


HOSTILE = "\x1b[31mred\x1b[0m\r\x07 " + "long × " * 40


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    questions = [{**row, "id": f"{row['id']}{n}"} for n in range(6) for row in QUESTIONS]
    config = project(tmp_path_factory.mktemp("small"), questions=questions)
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    return reader.load(finished.folder)


def written(stored, folder):
    """Write a run as it is stored, without its reports."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(RUN_FORMAT.text(stored.run), encoding="utf-8")
    for name, form, some in (
        ("records.jsonl", OUTCOME_FORMAT, stored.records),
        ("questions.jsonl", QUESTION_FORMAT, stored.questions.values()),
    ):
        lines = "".join(map(form.line, some))
        (folder / name).write_text(lines, encoding="utf-8")
    shutil.copy(stored.folder / "texts.jsonl", folder)
    return folder


def body(text):
    """Return the lines before the paths, which may be long."""
    return text.partition("\nreport: ")[0].splitlines()


def test_the_verdict_and_how_sure_it_is_stand_first(stored):
    verdict = View(stored).verdict
    lines = summary(stored.folder).splitlines()
    first = " ".join(lines[: lines.index("")])

    assert lines[0] == verdict.headline
    assert first.split() == verdict.text.split()
    assert "Ranked by passage_recall@2, n = 24, 6 unanswerable" in lines


def test_then_the_cells_best_first_with_what_their_means_rest_on(stored):
    view = View(stored)
    lines = summary(stored.folder).splitlines()
    at = lines.index("Ranked by passage_recall@2, n = 24, 6 unanswerable") + 2

    for letter, cell, line in zip("ABCD", view.cells, lines[at:], strict=False):
        assert line.split()[:2] == [letter, f"{view.score(cell).mean:.3f}"]
        assert line.endswith(view.name(cell) + (" (floor)" if cell.floor else ""))


def test_it_ends_with_where_the_reports_are(stored):
    folder = stored.folder

    assert summary(folder).splitlines()[-4:] == [
        f"4 cells, 0 failed, {summary(folder).splitlines()[-4].rpartition(', ')[2]}",
        f"report: {folder / 'report.html'}",
        f"report: {folder / 'report.md'}",
        f"all runs: {folder.parent / 'index.html'}",
    ]


def test_it_is_plain_text_of_at_most_100_columns_whatever_the_names(stored, tmp_path):
    large = many(stored, 40, 10, lambda at: f"{at}{HOSTILE}")
    run = replace(large.run, warnings=[HOSTILE * 9, "short"])
    folder = written(replace(large, run=run), tmp_path / "run")
    text = summary(folder)

    assert max(map(len, body(text))) <= 100
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\nwarning: short\n" in text
    assert "\n28 more cells in the report\n" in text


def test_warnings_are_given_in_full(stored, tmp_path):
    warning = "3 chunks are longer than the model reads; their ends are not in the index. " * 3
    run = replace(stored.run, warnings=[warning])
    folder = written(replace(stored, run=run), tmp_path / "run")
    said = " ".join(summary(folder).split())

    assert f"warning: {warning.strip()}" in said
