"""The summary of a job in GitHub Actions: appended, cut, and no harm where it cannot be written."""

from harness.cli.github_summary import append_summary


def test_a_summary_is_appended_and_cut_to_what_github_takes(tmp_path):
    path = tmp_path / "summary.md"
    there = {"GITHUB_STEP_SUMMARY": str(path)}
    noted = []

    append_summary("one\n", noted.append, there)
    append_summary("é" * 600_000, noted.append, there)
    append_summary("nowhere", noted.append, {})

    text = path.read_text("utf-8")
    assert text.startswith("one\n\n")
    assert text.endswith("(cut: it is longer than a summary may be)\n\n")
    assert len(text.encode()) < 1024 * 1024
    assert noted == []


def test_a_summary_that_cannot_be_written_is_noted(tmp_path):
    noted = []

    append_summary("x", noted.append, {"GITHUB_STEP_SUMMARY": str(tmp_path)})

    assert noted[0].startswith("GITHUB_STEP_SUMMARY cannot be written: ")
