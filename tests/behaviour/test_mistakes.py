"""Every mistake is refused with its exit status, what is wrong by name, and no traceback."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.behaviour.golden import check_section, run_folder, sections
from tests.behaviour.mistakes import CONFIGURATION, DATA, MADE, Mistake
from tests.behaviour.mistakes_of_commands import COMMAND_LINE, FILES

TABLE = {
    f"{part}/{name}": mistake
    for part, rows in {
        "configuration": CONFIGURATION,
        "data": DATA,
        "command_line": COMMAND_LINE,
        "files": FILES,
    }.items()
    for name, mistake in rows.items()
}
KEYS = ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL")
SECRET = "sk-do-not-print"
MASKS = (
    (r"pip install .*", "pip install <advice>"),
    (r"(Import|OpenAI|Value)Error: .*", r"\1Error: <message>"),
    (r"(python -m )?\b[\w.]*harness (?=\[|-|[a-z]+ )", "harness "),
)


@pytest.fixture
def made(project, cli) -> Path:
    """Return the folder of a finished run, beside the project that made it."""
    project.config(index={"exact": True})
    assert cli("run", "config.yaml").status == 0
    folder = run_folder(project.folder)
    folder.rename(project.folder / MADE)
    return project.folder / MADE


@pytest.mark.parametrize("name", TABLE)
def test_a_mistake_is_said_with_its_status_and_what_it_is_about(
    project, cli, monkeypatch, request, name
):
    mistake = TABLE[name]
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    for key, value in mistake.environment.items():
        monkeypatch.setenv(key, value)
    if mistake.library:
        monkeypatch.setitem(sys.modules, mistake.library, None)
    if needs_a_run(mistake):
        request.getfixturevalue("made")
    project.config(**mistake.changes)
    prepare(project.folder, mistake)
    before = runs(project)

    reply = cli(*shlex.split(mistake.command))

    assert reply.status == mistake.status, reply
    assert "Traceback" not in reply.err
    assert SECRET not in reply.err
    words = " ".join(reply.err.split())
    assert [fact for fact in mistake.facts if fact not in words] == [], reply.err
    if mistake.status == 2:
        assert reply.out == ""
        assert runs(project) == before
    text = reply.err
    for pattern, name_of_it in MASKS:
        text = re.sub(pattern, name_of_it, text)
    part, _, row = name.partition("/")
    check_section(f"mistakes_{part}", row, text, project.folder, project.folder.parent)


def runs(project) -> list[str]:
    """Return the files of stored runs; what was read meanwhile may be kept in the cache."""
    return [path for path in project.written() if path.startswith("reports/")]


def test_every_message_that_is_kept_is_one_of_a_mistake():
    kept = [
        f"{part}/{row}"
        for part in ("configuration", "data", "command_line", "files")
        for row in sections(f"mistakes_{part}")
    ]

    assert sorted(kept) == sorted(TABLE)


def needs_a_run(mistake: Mistake) -> bool:
    return MADE in mistake.command or mistake.command.startswith("history -m")


def prepare(folder: Path, mistake: Mistake) -> None:
    """Write the files of a mistake."""
    for name, content in mistake.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        elif isinstance(content, tuple):
            text = path.read_text("utf-8")
            assert content[0] in text
            path.write_text(text.replace(*content, 1), "utf-8")
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
