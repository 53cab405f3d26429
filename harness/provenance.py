"""Where the numbers come from: versions, models, data and code, without a path of the machine."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import harness
from harness import summarise
from harness.chunkers import handed
from harness.config import RunConfig
from harness.corpus import Corpus
from harness.embedders import Embedder
from harness.fingerprint import fingerprint, identity_of, plain, versions
from harness.paths import portable
from harness.plan import Plan
from harness.stored import Provenance
from harness.testset import Testset

_LISTED = """
annotated-types bert-score bm25s chromadb jinja2 langchain langchain-core langchain-text-splitters
markitdown model2vec nltk numpy openvino pydantic pypdfium2 python-jsonpath pyyaml rapidfuzz
rouge-score sacrebleu sentence-transformers tokenizers torch transformers wordllama xllamacpp
"""
PACKAGES = _LISTED.split()


def provenance(config: RunConfig, corpus: Corpus, testset: Testset, plan: Plan) -> Provenance:
    """Return what a run was made with."""
    commit, dirty = _git()
    return Provenance(
        harness=harness.__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        git_commit=commit,
        git_dirty=dirty,
        packages=_packages(),
        models=_models(config, plan),
        corpus={
            "path": portable(config.corpus.path),
            "format": config.corpus.name,
            "hash": corpus.id,
            "documents": len(corpus.documents),
            "characters": corpus.characters,
            "skipped": [f"{each.where}: {each.what}" for each in corpus.skipped],
            "ignored": dict(corpus.ignored),
            "converters": corpus.converters,
        },
        testset={
            "path": portable(config.testset.path),
            "format": config.testset.name,
            "hash": testset.id,
            "questions": len(testset.questions),
            "unanswerable": sum(not each.answerable for each in testset.questions),
            "drafts": testset.unaccepted,
            "notes": list(testset.notes),
            **({} if testset.of is None else {"of": testset.of}),
        },
        metrics=summarise.described(plan.metrics, plan.labels),
        seed=config.settings.seed,
        labels=plan.labels,
        collection=None,
    )


def shaped_by(config: RunConfig, about: Provenance) -> str:
    """Return the fingerprint of all that shapes a run's records.

    Where they are written, the gate that judges them, and what is only told beside them do not.
    """
    settings = {
        key: value for key, value in resolved(config)["resolved"].items() if key not in _BESIDE
    }
    found = about.model_dump(
        mode="json", include={"harness", "corpus", "testset", "metrics", "collection"}
    )
    models = [{k: v for k, v in each.items() if k != "texts_per_second"} for each in about.models]
    return fingerprint(settings, found, models)


_BESIDE = (
    "output",
    "cache",
    "execution",
    "gate",
    "oracle",
    "prices",
    "max_cost",
    "token_budget",
    "traffic",
)


def resolved(config: RunConfig) -> dict[str, Any]:
    """Return the configuration as given and with every default filled in."""
    settings = config.settings.model_dump(mode="json")
    for axis in ("chunker", "embedder", "retriever", "reranker", "generator"):
        parts = dict.fromkeys(getattr(cell, axis) for cell in config.cells)
        settings[f"{axis}s"] = [_spec(part) for part in parts if part is not None]
    if config.systems:
        settings["system"] = [_spec(cell.system) for cell in config.systems]
    settings["metrics"] = [each.name for each in config.metrics]
    settings["decide_by"] = config.decide_by
    settings["corpus"] = _spec(config.corpus)
    settings["testset"] = _spec(config.testset)
    given = {key: value for key, value in config.given.items()}
    found: dict[str, Any] = portable({"given": given, "resolved": settings})
    return found


def _spec(component: Any) -> dict[str, Any]:
    assert is_dataclass(component)
    assert not isinstance(component, type)
    params = {field.name: plain(getattr(component, field.name)) for field in fields(component)}
    return {component.name: params}  # type: ignore[attr-defined]


def _models(config: RunConfig, plan: Plan) -> list[dict[str, Any]]:
    embedders = dict.fromkeys(cell.embedder for cell in config.cells)
    found = [_described(part) for part in embedders if part is not None]
    others = dict.fromkeys(
        part
        for cell in config.cells
        for part in (
            *(cell.chunker, handed(cell.chunker)),
            *(cell.retriever, cell.reranker, cell.generator),
        )
    )
    identities = [{"used_by": part.name, **identity_of(part)} for part in others]
    found += [each for each in identities if any(each.get(key) for key in _MODEL_KEYS)]
    systems = [cell.system for cell in config.systems]
    found += [{"used_by": part.name, **identity_of(part)} for part in systems]
    listed: list[dict[str, Any]] = portable(found)
    return [*listed, *summarise.models(plan.metrics)]


_MODEL_KEYS = ("model", "weights", "tokenizer", "embedder", "chat", "cls")
"""What in a component's identity says that it runs a model, or a class of the user's."""


def _described(embedder: Embedder) -> dict[str, Any]:
    return {"used_by": embedder.name, **embedder.identity(), **embedder.describe()}


def _packages() -> dict[str, str]:
    return {name: found for name, found in versions(*PACKAGES).items() if found is not None}


def _git() -> tuple[str | None, bool | None]:
    """Return the commit of the working directory and whether it has changes; None outside git."""
    try:
        commit = _said(["git", "rev-parse", "HEAD"])
        return commit, bool(_said(["git", "status", "--porcelain"]))
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None, None


def _said(command: Sequence[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=10, check=True, cwd=Path()
    )
    return done.stdout.strip()
