"""The summary of a job in GitHub Actions: appended, cut, and no harm where it cannot be written."""

from harness.cli.compare_verbs import append_summary


def test_a_summary_is_appended_and_cut_to_what_github_takes(tmp_path, capsys):
    path = tmp_path / "summary.md"
    there = {"GITHUB_STEP_SUMMARY": str(path)}

    append_summary("one\n", there)
    append_summary("é" * 600_000, there)
    append_summary("nowhere", {})

    text = path.read_text("utf-8")
    assert text.startswith("one\n\n")
    assert text.endswith("(cut: it is longer than a summary may be)\n\n")
    assert len(text.encode()) < 1024 * 1024
    assert not capsys.readouterr().err


def test_a_summary_that_cannot_be_written_is_noted(tmp_path, capsys):
    append_summary("x", {"GITHUB_STEP_SUMMARY": str(tmp_path)})

    assert capsys.readouterr().err.startswith("GITHUB_STEP_SUMMARY cannot be written: ")
