"""TREC run: rankings in a file, and answers in another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from harness.errors import DataError, Problem, StageError
from harness.files import json_lines, trec
from harness.fingerprint import sha256_of
from harness.systems import System, reply, systems
from harness.systems.reply import RetrievedText, SystemReply


@systems.register
@dataclass(frozen=True)
class TrecRun(System):
    """A run file in TREC's format, and answers in a JSON Lines file if there are any.

    The run ranks documents by their ids in the corpus, by score as trec_eval does. Each line of
    `answers` has the `id` of its question and any of `answer`, `contexts`, `declined`, `tokens_in`,
    `tokens_out` and `model`, the contexts being those that the answer was made from. A question
    that a file lacks has failed, counts 0 and is named in a warning; none of them stops the run.
    """

    path: str
    answers: str | None = None
    label: str | None = None

    name: ClassVar[str] = "trec_run"
    version: ClassVar[int] = 1
    files: ClassVar[tuple[str, ...]] = ("path", "answers")
    imported: ClassVar[bool] = True
    cache: ClassVar[bool] = False

    @property
    def shown(self) -> str:
        """What reports call it."""
        return self.label or f"trec_run({Path(self.path).name})"

    @property
    def tells_answers(self) -> bool:
        """Whether there is a file of answers."""
        return self.answers is not None

    def check(self) -> None:
        """Read the files."""
        _read_run(self.path, _modified_ns(self.path))
        if self.answers is not None:
            _read_answers(self.answers, _modified_ns(self.answers))

    def ask(self, id_: str, question: str) -> SystemReply:
        """Look the question up."""
        ranking = _read_run(self.path, _modified_ns(self.path)).get(id_)
        if ranking is None:
            raise StageError(f"missing from {Path(self.path).name}")
        # As trec_eval: by score, then by id, both descending.
        best = sorted(ranking.items(), key=itemgetter(1, 0), reverse=True)
        contexts = tuple(RetrievedText("", (doc,), score=score) for doc, score in best)
        if self.answers is None:
            return SystemReply(contexts)
        reply = _read_answers(self.answers, _modified_ns(self.answers)).get(id_)
        if reply is None:
            return SystemReply(contexts, lacking=f"missing from {Path(self.answers).name}")
        return replace(reply, contexts=contexts)

    def identity(self) -> dict[str, Any]:
        """Return the content of the files."""
        answers = None if self.answers is None else sha256_of(Path(self.answers))
        about = {"name": self.name, "version": self.version, "run": sha256_of(Path(self.path))}
        return {**about, "answers": answers}


def _modified_ns(path: str) -> int:
    return Path(path).stat().st_mtime_ns


@lru_cache(maxsize=8)
def _read_run(path: str, changed: int) -> trec.Ranking:
    return trec.read_run(Path(path))


@lru_cache(maxsize=8)
def _read_answers(path: str, changed: int) -> Mapping[str, SystemReply]:
    """Return the answers by question; raises `DataError` with all that is wrong with the file."""
    answers: dict[str, SystemReply] = {}
    problems: list[Problem] = []
    for row in json_lines.rows(Path(path)):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        id_ = row.data.get("id")
        try:
            parsed = reply.parse_reply(row.data)
        except StageError as error:
            problems.append(Problem(row.where, str(error)))
            continue
        if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
            problems.append(Problem(row.where, f"the id is {id_!r}", "name a question of the set"))
        elif str(id_) in answers:
            problems.append(Problem(row.where, f"the id {id_!r} is taken", "keep one of them"))
        else:
            sent = parsed.sent or reply.join_contexts(parsed.contexts)
            answers[str(id_)] = replace(parsed, contexts=None, sent=sent)
    if problems:
        raise DataError(path, problems[:20])
    return answers
