"""Records the provenance of a run: versions, models, data and code, without local paths."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from harness.chunkers import hit_chunker
from harness.config.grid import RunPlan
from harness.config.resolved import RunConfig
from harness.corpus import Corpus
from harness.files.paths import make_portable
from harness.fingerprint import __version__, fingerprint, identity_of, identity_or_value, versions
from harness.protocols import Embedder
from harness.runs import aggregate
from harness.store.run_file import Provenance
from harness.testset import Testset

_PACKAGE_LIST = """
annotated-types bert-score bm25s chromadb jinja2 langchain langchain-core langchain-text-splitters
markitdown model2vec nltk numpy openvino pydantic pypdfium2 python-jsonpath pyyaml rapidfuzz
rouge-score sacrebleu sentence-transformers tokenizers torch transformers wordllama xllamacpp
"""
PACKAGES = _PACKAGE_LIST.split()


def collect_provenance(
    config: RunConfig, corpus: Corpus, testset: Testset, plan: RunPlan
) -> Provenance:
    """Return what a run was made with."""
    commit, dirty = _git_state()
    return Provenance(
        harness=__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        git_commit=commit,
        git_dirty=dirty,
        packages=_package_versions(),
        models=tuple(_list_models(config, plan)),
        corpus={
            "path": make_portable(config.corpus.path),
            "format": config.corpus.name,
            "hash": corpus.id,
            "documents": len(corpus.documents),
            "characters": corpus.characters,
            "skipped": [f"{problem.where}: {problem.what}" for problem in corpus.skipped],
            "ignored": dict(corpus.ignored),
            "converters": corpus.converters,
        },
        testset={
            "path": make_portable(config.testset.path),
            "format": config.testset.name,
            "hash": testset.id,
            "questions": len(testset.questions),
            "unanswerable": sum(not question.answerable for question in testset.questions),
            "drafts": testset.unaccepted,
            "notes": list(testset.notes),
            **({} if testset.of is None else {"of": testset.of}),
        },
        metrics=aggregate.describe_metrics(plan.metrics, plan.labels),
        seed=config.settings.seed,
        labels=plan.labels,
        collection=None,
    )


def records_fingerprint(config: RunConfig, about: Provenance) -> str:
    """Return the fingerprint of all that shapes a run's records.

    Where they are written, the gate that judges them, and what is only reported beside them do not.
    """
    settings = {
        key: value
        for key, value in resolved_config(config)["resolved"].items()
        if key not in _KEYS_LEFT_OUT
    }
    shaping = ("harness", "corpus", "testset", "metrics", "collection")
    parts = {name: part for name, part in asdict(about).items() if name in shaping}
    models = about.models
    return fingerprint(settings, parts, models)


_KEYS_LEFT_OUT = (
    "output",
    "cache",
    "execution",
    "gate",
    "oracle",
    "reuse",
    "prices",
    "max_cost",
    "token_budget",
    "traffic",
    "people",
)


def resolved_config(config: RunConfig) -> dict[str, Any]:
    """Return the configuration as given and with every default filled in."""
    settings = config.settings.model_dump(mode="json")
    for axis in ("chunker", "embedder", "retriever", "reranker", "generator"):
        parts = dict.fromkeys(getattr(cell, axis) for cell in config.cells)
        settings[f"{axis}s"] = [_spec(part) for part in parts if part is not None]
    if config.systems:
        settings["system"] = [_spec(cell.system) for cell in config.systems]
    settings["metrics"] = [named.name for named in config.metrics]
    settings["decide_by"] = config.decide_by
    settings["corpus"] = _spec(config.corpus)
    settings["testset"] = _spec(config.testset)
    raw = {key: value for key, value in config.given.items()}
    config_line: dict[str, Any] = make_portable({"given": raw, "resolved": settings})
    return config_line


def _spec(component: Any) -> dict[str, Any]:
    assert is_dataclass(component)
    assert not isinstance(component, type)
    params = {
        field.name: identity_or_value(getattr(component, field.name)) for field in fields(component)
    }
    return {component.name: params}  # type: ignore[attr-defined]


def _list_models(config: RunConfig, plan: RunPlan) -> list[dict[str, Any]]:
    embedders = dict.fromkeys(cell.embedder for cell in config.cells)
    identities_found = [_describe_embedder(part) for part in embedders if part is not None]
    others = dict.fromkeys(
        part
        for cell in config.cells
        for part in (
            *(cell.chunker, hit_chunker(cell.chunker)),
            *(cell.retriever, cell.reranker, cell.generator),
        )
    )
    identities = [{"used_by": part.name, **identity_of(part)} for part in others]
    identities_found += [
        identity for identity in identities if any(identity.get(key) for key in _MODEL_KEYS)
    ]
    systems = [cell.system for cell in config.systems]
    identities_found += [{"used_by": part.name, **identity_of(part)} for part in systems]
    listed: list[dict[str, Any]] = make_portable(identities_found)
    return [*listed, *aggregate.metric_models(plan.metrics)]


_MODEL_KEYS = ("model", "weights", "tokenizer", "embedder", "chat", "cls")
"""What in a component's identity says that it runs a model, or a class of the user's."""


def _describe_embedder(embedder: Embedder) -> dict[str, Any]:
    return {"used_by": embedder.name, **embedder.identity(), **embedder.describe()}


def _package_versions() -> dict[str, str]:
    return {name: version for name, version in versions(*PACKAGES).items() if version is not None}


def _git_state() -> tuple[str | None, bool | None]:
    """Return the commit of the working directory and whether it has changes; None outside git."""
    try:
        commit = _run_command(["git", "rev-parse", "HEAD"])
        return commit, bool(_run_command(["git", "status", "--porcelain"]))
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None, None


def _run_command(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=10, check=True, cwd=Path()
    )
    return done.stdout.strip()
