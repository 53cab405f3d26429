"""Records that stay on disk are read as those in memory are, and make the same of everything."""

import gc
import os
import shutil

import numpy as np
import pytest

from harness import api, report
from harness.config.run_config import load
from harness.errors import DataError
from harness.runs import runner
from harness.store import outcome_file, reader
from harness.store.frame import LOST, STATES, UNKNOWN
from tests.support.small import project

METRICS = ["passage_recall@2", "precision@2", "recall(labels=documents)@2", "corpus_bleu"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = project(tmp_path_factory.mktemp("many"), metrics=[*METRICS, "token_f1"])
    return api.run(runner.prepare(load(config, [], {})), lambda *_: None).folder


@pytest.fixture
def both(folder, monkeypatch):
    """Return one run with its records in memory, and with its records on disk."""
    kept = reader.load(folder)
    monkeypatch.setattr(outcome_file, "MAX_BYTES_IN_MEMORY", 0)
    return kept, reader.load(folder)


def test_records_on_disk_are_those_in_memory(both):
    kept, on_disk = both

    assert kept.records[2] is kept.records[2]
    assert on_disk.records[2] is not on_disk.records[2]
    assert list(on_disk.records) == list(kept.records)
    assert list(on_disk.records[3:1:-1]) == list(kept.records)[3:1:-1]
    assert on_disk.records[-1] == kept.records[-1]
    assert len(on_disk.records) == len(kept.records) == 20
    with pytest.raises(IndexError):
        on_disk.records[20]


def test_both_have_the_same_columns(both):
    kept, on_disk = (stored.frame for stored in both)
    records = both[0].records

    for name, values in kept.value.items():
        np.testing.assert_array_equal(values, on_disk.value[name])
        found = [None if value != value else value for value in values.tolist()]
        assert found == [record.scores[name].value for record in records]
        states = [STATES[at] for at in on_disk.state[name]]
        assert states == [record.scores[name].state for record in records]
    lost = [None if at == UNKNOWN else LOST[at] for at in on_disk.lost]
    assert lost == [record.lost_at for record in records]
    np.testing.assert_array_equal(kept.lost, on_disk.lost)
    np.testing.assert_array_equal(kept.seconds, on_disk.seconds)
    assert on_disk.answered.tolist() == [record.answer is not None for record in records]


def test_a_cell_and_a_question_are_found_on_disk_as_in_memory(both):
    kept, on_disk = both
    names = [cell.name for cell in kept.run.cells]

    for name in names:
        own = [record for record in kept.records if record.cell == name]
        assert list(kept.records_of([name])) == list(on_disk.records_of([name])) == own
        assert on_disk.record(name, "docks") == kept.record(name, "docks") == own[1]
    assert list(on_disk.records_of(names[1:3])) == [r for r in kept.records if r.cell in names[1:3]]
    assert list(on_disk.records_of([])) == []
    assert on_disk.record(names[0], "no such question") is None
    assert on_disk.record("no such cell", "docks") is None


def test_the_reports_are_the_same_to_the_byte(folder, monkeypatch):
    names = ("report.html", "report.md", "report.json")
    report.write(folder)
    before = [(folder / name).read_bytes() for name in names]

    monkeypatch.setattr(outcome_file, "MAX_BYTES_IN_MEMORY", 0)
    report.write(folder)

    assert [(folder / name).read_bytes() for name in names] == before


def test_records_changed_while_they_are_read_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(outcome_file, "MAX_BYTES_IN_MEMORY", 0)
    shutil.copytree(folder, tmp_path / "run")
    stored = reader.load(tmp_path / "run")
    with (tmp_path / "run" / reader.RECORDS).open("r+b") as file:
        file.truncate(1_000)

    with pytest.raises(DataError) as caught:
        list(stored.records)

    assert "records.jsonl, line 1: was changed while it was read" in str(caught.value)


def test_a_damaged_line_is_found_before_anything_is_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(outcome_file, "MAX_BYTES_IN_MEMORY", 0)
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / reader.RECORDS
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"docks"', b'"decks"').replace(b'"ceo"', b'"coo"')
    path.write_bytes(b"".join(lines))
    (tmp_path / "run" / "checksums.json").unlink(missing_ok=True)

    with pytest.raises(DataError):
        reader.load(tmp_path / "run")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="it counts files as Linux tells")
def test_the_file_is_closed_with_the_last_that_reads_it(folder, monkeypatch):
    monkeypatch.setattr(outcome_file, "MAX_BYTES_IN_MEMORY", 0)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))

    stored = [reader.load(folder) for _ in range(3)]
    part = stored[0].records_of([stored[0].run.cells[0].name])
    stored.clear()
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(part) == 5
    del part
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
