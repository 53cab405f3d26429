"""Converted documents on the command line: `extract`, and what a run's folder keeps of them."""

import json

import pytest

from harness.corpus import load
from harness.corpus.folder_documents import FolderDocuments
from harness.store.writer import RunWriter
from tests.support.office import pdf


def test_extract_shows_the_text_of_converted_files_and_notes_what_is_left_out(project, cli):
    project.document("a/phobos.pdf", pdf("Phobos is near.", "Deimos is far."))
    project.document("bad.docx", b"PK")
    project.document("x.png", b"x")

    said = cli("extract", "corpus")

    assert said.status == 0
    assert said.out == "==> a/phobos.pdf <==\nPhobos is near.\n\f\nDeimos is far.\n\n"
    assert said.err.splitlines() == [
        "note: skipped: bad.docx: cannot be converted: BadZipFile: File is not a zip file",
        "note: files of the corpus that nothing reads were left out: 1 .png",
    ]


@pytest.mark.parametrize("id_", ["../evil", "/evil", "a/../../evil"])
def test_extract_writes_nowhere_else_whatever_a_row_is_called(project, cli, id_):
    (project.folder / "faq.csv").write_text(f"id,q,a\n{id_},Who?,Me\n")

    said = cli("extract", "faq.csv", "-o", "sub/out")

    assert (said.status, said.out) == (2, "")
    assert said.err == f"the id {id_!r} names no file below a folder\n  leave -o out\n"
    assert not (project.folder / "sub").exists()


def test_evidence_quoted_from_an_extracted_text_is_found(project, cli):
    project.document("phobos.pdf", pdf("Phobos is near.", "Deimos is far away."))
    evidence = [{"doc": "phobos.pdf", "quote": "Deimos is far away."}]
    project.testset({"question": "Which is far away?", "answers": ["Deimos"], "evidence": evidence})

    assert cli("validate", "config.yaml").status == 0
    evidence[0]["quote"] = "Deimos orbits backwards."
    project.testset({"question": "Which is far away?", "answers": ["Deimos"], "evidence": evidence})
    assert "is not in document 'phobos.pdf'" in cli("validate", "config.yaml").err


def test_a_runs_folder_keeps_the_text_of_converted_documents_alone(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "a.md").write_text("plain")
    (tmp_path / "c" / "b.pdf").write_bytes(pdf("The Moon.", title="Moon"))
    corpus = load(FolderDocuments(str(tmp_path / "c")))
    writer = RunWriter(tmp_path, "run", "x")
    writer.folder.mkdir()

    writer.write_documents(corpus.converted_documents())

    lines = (tmp_path / "run" / "documents.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "id": "b.pdf",
            "title": "Moon",
            "text": "The Moon.",
            "source": corpus.origins["b.pdf"].source,
            "converter": corpus.origins["b.pdf"].converter,
        }
    ]


def test_a_run_of_plain_text_keeps_no_documents(tmp_path):
    writer = RunWriter(tmp_path, "run", "x")
    writer.folder.mkdir()

    writer.write_documents(iter(()))

    assert list(writer.folder.iterdir()) == []
