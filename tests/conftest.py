"""Fixtures that several test files share: the command line, and a small project to run it on."""

import gc
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from harness.cli import main
from harness.models import runtime
from harness.models.runtime import processor
from tests.support import disks
from tests.support.browser import REQUIRED, complaints, executable, launched

ROOM = 4_000_000_000
"""Bytes in memory that are enough for the files of all tests."""
DOCUMENTS = {
    "moon.md": "# Moon\n\nThe Moon has no air and no weather. It is 384,400 km away on average.\n",
    "mars.md": "# Mars\n\nMars has two moons, Phobos and Deimos. A day there is 24.6 hours long.\n",
}
QUESTIONS = [
    {
        "id": "q1",
        "question": "How far away is the Moon?",
        "answers": ["384,400 km"],
        "keywords": ["384,400 km"],
        "evidence": [{"doc": "moon.md", "quote": "It is 384,400 km away on average."}],
        "documents": {"moon.md": 1},
    },
    {
        "id": "q2",
        "question": "Which moons does Mars have?",
        "answers": ["Phobos and Deimos"],
        "keywords": ["Phobos", "Deimos"],
        "evidence": [{"doc": "mars.md", "quote": "Mars has two moons, Phobos and Deimos."}],
        "documents": {"mars.md": 1},
    },
    {"id": "q3", "question": "Who wrote Hamlet?", "answerable": False},
]
SETTINGS = {
    "corpus": "corpus",
    "testset": "testset.jsonl",
    "chunkers": ["sentence"],
    "embedders": [{"hashing": {"dimensions": 64}}],
    "retrievers": ["dense"],
    "generators": ["extractive"],
    "retrieve": 4,
    "context": {"chunks": 2},
    "metrics": ["passage_recall@2", "token_f1", "abstention"],
}


@dataclass(frozen=True)
class Said:
    """What one command came to."""

    status: int
    out: str
    err: str


@dataclass
class Project:
    """A folder with a corpus, a test set and a configuration; the working directory."""

    folder: Path
    settings: dict = field(default_factory=lambda: json.loads(json.dumps(SETTINGS)))

    def config(self, text: str | None = None, **changes) -> Path:
        """Write config.yaml: `text` as it is, or the settings with `changes`; None drops a key."""
        path = Path("config.yaml")
        self.settings |= changes
        kept = {key: value for key, value in self.settings.items() if value is not None}
        path.write_text(yaml.safe_dump(kept, sort_keys=False) if text is None else text, "utf-8")
        return path

    def document(self, name: str, content: str | bytes) -> Path:
        """Write one document, byte for byte."""
        path = self.folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def testset(self, *rows: dict | str) -> Path:
        """Write testset.jsonl; a text is written as the line it is."""
        path = self.folder / "testset.jsonl"
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return path

    def written(self) -> list[str]:
        """Return the files that a run or an index has left in the folder."""
        made = [*self.folder.glob("reports/**/*"), *self.folder.glob(".harness/**/*")]
        return sorted(path.relative_to(self.folder).as_posix() for path in made)


def pytest_configure() -> None:
    """Keep compiled code whatever the environment says, and files of tests in memory.

    Hundreds of tests start Python anew, and thousands wait for SQLite to reach the disk. Where
    TMPDIR or PYTEST_DEBUG_TEMPROOT names a place, that is taken.
    """
    disks.unmount_left_overs()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "TMPDIR" not in os.environ and disks.memory(ROOM):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(disks.MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than there are processors: many tests wait for another process."""
    return processor.cores() + 1


def pytest_collection_finish() -> None:
    """Take what is loaded by now out of what the garbage collector walks through."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    """Take `HARNESS_<KEY>` out of the environment; tests set what they need."""
    for name in [name for name in os.environ if name.startswith("HARNESS_")]:
        if not name.startswith("HARNESS_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _nothing_kept_in_a_folder_of_another_test():
    """Let go of the folder that a run of this process keeps converted models in."""
    yield
    runtime.keep_in(None)


@pytest.fixture(scope="session")
def kept_models(tmp_path_factory) -> Path:
    """Return the folder of converted models, and of the fastest way to run them, for all tests."""
    own = tmp_path_factory.getbasetemp()
    kept = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "models"
    kept.mkdir(exist_ok=True)
    return kept


@pytest.fixture
def own_cache(tmp_path, kept_models) -> Path:
    """Return an empty cache of the test's own, but for the models."""
    made = tmp_path / "cache"
    made.mkdir()
    (made / "models").symlink_to(kept_models)
    return made


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    """Return a small sound project, in the working directory."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    for name, text in DOCUMENTS.items():
        made.document(name, text)
    made.testset(*QUESTIONS)
    made.config()
    return made


@pytest.fixture
def cli(monkeypatch, capsys):
    """Return a function that runs the command line in this process."""

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        out, err = capsys.readouterr()
        return Said(status, out, err)

    return call


@pytest.fixture
def refused(project, cli):
    """Return a function that runs the project, sees it refused, and gives the message's lines.

    Refused: exit status 2, nothing on stdout, no traceback, no file of a run or an index.
    """

    def call(*arguments: object, verb: str = "run") -> list[str]:
        said = cli(verb, "config.yaml", *arguments)
        assert said.status == 2, said
        assert said.out == ""
        assert "Traceback" not in said.err
        assert project.written() == []
        return said.err.splitlines()

    return call


@pytest.fixture
def test_data() -> Path:
    """Return the folder of published data sets; skips where it is not there."""
    folder = os.environ.get("HARNESS_TEST_DATA")
    if not folder:
        pytest.skip("HARNESS_TEST_DATA is not set: it names a folder of published data sets")
    return Path(folder)


@pytest.fixture(scope="module")
def browser():
    """Return a browser. Once a module: while it runs, nothing else may run an event loop."""
    with launched(executable(), REQUIRED) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_complaints_of_a_browser():
    """Fail a test whose pages had errors, or asked for something from outside."""
    yield
    found = list(complaints)
    complaints.clear()
    assert found == []
