"""What a stored run may choose when it is scored again, though a stranger may have written it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from harness.chat import ChatModel
from harness.errors import HarnessError, SpecError, suggest
from harness.reach import Reach, allowed
from harness.store import StoredRun

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def judge_of(value: Any) -> ChatModel:
    """Return the chat model that a name, or a mapping of settings, describes.

    Raises:
        ValueError: it is neither, or a setting is not allowed.
    """
    given = {"model": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise ValueError("expected a model's name or its settings, found another kind of value")
    known = [each.name for each in fields(ChatModel)]
    for key in map(str, given):
        if key not in known:
            raise ValueError(f"a chat model has no {key!r}; {suggest(key, known)}")
    try:
        return TypeAdapter(ChatModel).validate_python(given)
    except ValidationError as error:
        said = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, said['loc']))}: {said['msg']}") from None


def own_judge(stored: StoredRun) -> ChatModel | None:
    """Return the judge of the run's configuration."""
    given = stored.run.config["resolved"].get("judge")
    if given is None:
        return None
    judge = judge_of(given)
    _check_judge(judge, stored.folder)
    return replace(judge, seed=stored.run.provenance.seed) if judge.seed is None else judge


def _check_judge(judge: ChatModel, folder: Path) -> None:
    """Raise `HarnessError` for a judge whose server or file a stored run may not choose.

    A key of the environment is sent to the server, so that is not for a stranger's run to name.
    """
    server = urlsplit(judge.base_url or "http://localhost").hostname or ""
    if server not in _LOOPBACK:
        raise HarnessError(
            f"{folder}: its judge is at {server}, and a stored run cannot choose whom keys are "
            "sent to\n  name it again: --judge '{model: provider:name, base_url: https://...}'"
        )
    if judge.file is not None:
        check_within(judge.file, folder)


def check_within(spec: Any, folder: Path) -> None:
    """Raise `HarnessError` where what a stored run names is a folder or file out of the project."""
    reach = Reach(folder, anywhere=allowed(os.environ))
    try:
        if isinstance(spec, str) and Path(spec).is_file():
            reach.check(spec)
        reach.check_models(spec)
    except SpecError as error:
        raise HarnessError(f"{folder}: {error.what}\n  name the metrics: -m METRIC") from None
