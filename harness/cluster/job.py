"""What travels to the machines of a cluster, and what a process there makes of it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from harness import runtime
from harness.cache import Cache
from harness.corpus import Corpus
from harness.documents import Documents
from harness.errors import RunError
from harness.plan import Plan
from harness.records import Document, Question
from harness.runtime import choice
from harness.runtime.choice import Choice
from harness.shared import Shared
from harness.stages import Stages

_FILE = "documents.jsonl"
_ENCODED = ("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Job:
    """One run, as far as other machines need it; `id` tells it from other runs."""

    id: str
    store: str
    scratch: str | None
    folder: str
    """The working directory of the run, from which relative paths lead."""
    path: Sequence[str]
    """Where modules of the user's own are looked for."""
    corpus: str
    plan: Plan
    questions: Sequence[Question]
    choices: Mapping[choice.Asked, Choice]
    """What embeds, for the run itself finds no vectors that another runtime made."""

    @property
    def place(self) -> Path:
        """Where this machine keeps its own cache."""
        name = f"harness-{_user()}-{sha256(self.store.encode()).hexdigest()[:16]}"
        return Path(self.scratch or tempfile.gettempdir()) / name


class Workplace:
    """A run in one process of a cluster: its own cache, with the shared store behind it."""

    def __init__(self, job: Job) -> None:
        _settle(job)
        choice.adopt(job.choices)
        _own(job.place)
        self.job = job
        self.shared = Shared(job.store)
        self.cache = Cache(job.place, shared=self.shared)
        runtime.keep_in(self.cache.root / "models")
        corpus = Corpus(_documents(self.cache, job.corpus), job.corpus)
        self.stages = Stages(corpus, self.cache, job.plan, job.questions)


_open: dict[str, Workplace] = {}


def workplace(job: Job) -> Workplace:
    """Return this process's workplace for a run, made the first time."""
    if job.id not in _open:
        for each in _open.values():
            each.cache.close()
        _open.clear()
        _open[job.id] = Workplace(job)
    return _open[job.id]


def publish(cache: Cache, corpus: Corpus) -> None:
    """Put the documents of a corpus where other machines find them."""
    cache.folder("documents", {"corpus": corpus.id}, partial(_save, corpus.documents))


def _documents(cache: Cache, corpus: str) -> Documents:
    folder = cache.folder("documents", {"corpus": corpus}, _missing)
    documents = Documents()
    with (folder / _FILE).open("rb") as lines:
        for line in lines:
            documents.add(Document(*json.loads(line.decode(*_ENCODED))))
    return documents


def _save(documents: Mapping[str, Document], folder: Path) -> None:
    with (folder / _FILE).open("wb") as file:
        for each in documents.values():
            fields = [each.id, each.text, each.title, dict(each.metadata)]
            file.write((json.dumps(fields, ensure_ascii=False) + "\n").encode(*_ENCODED))


def _missing(folder: Path) -> None:
    raise RunError("the documents of the corpus are not in the shared store")


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _own(place: Path) -> None:
    """Make a folder that nobody else may look into; somebody else may have made it before."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid") and place.stat().st_uid != _user():
        raise RunError(
            f"the folder {str(place)!r} belongs to somebody else\n"
            "  name another: `scratch: FOLDER` in `execution`"
        )


def _settle(job: Job) -> None:
    """Go where paths of the configuration lead from, if there is such a folder here."""
    with suppress(OSError):
        os.chdir(job.folder)
    sys.path.extend(each for each in job.path if each not in sys.path)


def known(id_: str) -> Workplace | None:
    """Return this process's workplace for a run, if it has one."""
    return _open.get(id_)
