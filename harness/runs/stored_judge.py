"""Reads the judge of a stored run, and rejects what an untrusted run may not choose."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from harness.errors import HarnessError, suggest
from harness.metrics import Metric
from harness.metrics.named_metrics import leaf_metrics
from harness.models.chat import ChatModel
from harness.store.reader import StoredRun

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def parse_judge(value: Any) -> ChatModel:
    """Return the chat model that a name, or a mapping of settings, describes.

    Raises:
        ValueError: it is neither, or a setting is not allowed.
    """
    spec = {"model": value} if isinstance(value, str) else value
    if not isinstance(spec, Mapping):
        raise ValueError("expected a model's name or its settings, found another kind of value")
    names = [field.name for field in fields(ChatModel)]
    for key in map(str, spec):
        if key not in names:
            raise ValueError(f"a chat model has no {key!r}; {suggest(key, names)}")
    try:
        return TypeAdapter(ChatModel).validate_python(spec)
    except ValidationError as error:
        problem = error.errors()[0]
        message = problem["msg"].removeprefix("Value error, ")
        raise ValueError(": ".join([*map(str, problem["loc"]), message])) from None


def read_judge(stored: StoredRun) -> ChatModel | None:
    """Return the judge of the run's configuration.

    Raises:
        HarnessError: it is neither at its provider's own server nor at one on this machine.
    """
    spec = stored.run.config["resolved"].get("judge")
    if spec is None:
        return None
    judge = parse_judge(spec)
    where = urlsplit(judge.base_url or "http://localhost").hostname or ""
    if judge.file is not None:
        raise HarnessError(
            f"{stored.folder}: its judge is a file, {judge.shown!r}, and a stored run cannot "
            "choose what is read\n  name it again: --judge gguf:PATH"
        )
    if where not in _LOOPBACK:
        raise HarnessError(
            f"{stored.folder}: its judge is at {where}, and a stored run cannot choose whom keys "
            "are sent to\n  name it again: --judge '{model: provider:name, base_url: https://...}'"
        )
    return replace(judge, seed=stored.run.provenance.seed) if judge.seed is None else judge


def check_metric(metric: Metric, folder: Path) -> None:
    """Raise `HarnessError` for a metric of a stored run whose model is a folder."""
    for leaf in leaf_metrics(metric):
        model = getattr(leaf, "model", None)
        if isinstance(model, str) and os.path.isdir(model):
            raise HarnessError(
                f"{folder}: the model of {leaf.name} is a folder, {model!r}, and a stored run "
                "cannot choose what is read\n  name the metrics: -m METRIC"
            )
