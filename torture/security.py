"""Everything is run with planted keys, which must be nowhere, and without a network to ask."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import yaml

from tests.support import canaries, small
from torture.ordeal import Ordeal

_LONGEST = 600
_SITE = Path(__file__).parent.parent / "tests" / "offline_site"
ROOT = Path(__file__).parent.parent


def secrets() -> Ordeal:
    """Plant keys, run every verb against a server that sends them back, and look for them."""
    broken: list[str] = []
    with _project() as folder, canaries.echoing() as url:
        _configurations(folder, url)
        environment = {**os.environ, **canaries.KEYS, "TMPDIR": str(folder / "tmp")}
        (folder / "tmp").mkdir()
        said = []
        for command in _verbs(folder):
            done = _harness(command, folder, environment)
            said.append(done.stdout + done.stderr)
            if "Traceback" in done.stderr:
                broken.append(f"{' '.join(command)}: {done.stderr.splitlines()[-1]}")
            if canaries.found([], [said[-1]]):
                broken.append(f"{' '.join(command)}: a key is in what it prints")
        (folder / "judged.yaml").unlink()  # the password is there because we wrote it
        broken += [f"a key is in {each}" for each in canaries.found([folder])]
        assert len(list(folder.glob("reports/*/run.json"))) >= 3, said
    return Ordeal("commands with planted keys, sent back by servers", len(said), broken)


def offline() -> Ordeal:
    """Run everything with every socket but loopback refused, and list who tried to reach out."""
    broken: list[str] = []
    with _project() as folder, canaries.echoing() as url:
        _configurations(folder, url)
        tried = folder / "tried.txt"
        path = os.pathsep.join([str(_SITE), str(ROOT)])
        environment = {
            **{key: each for key, each in os.environ.items() if not key.startswith("HF_HUB_OFF")},
            "PYTHONPATH": path,
            "HARNESS_TEST_TRIED": str(tried),
            "OPENAI_API_KEY": "none",
            "APP_TOKEN": "none-at-all",
        }
        quick = ["run", str(ROOT / "config.yaml"), *_elsewhere(folder)]
        # One after the other: a stored run has its name only once it is there.
        cases = 0
        for command in chain(_verbs(folder), [quick]):
            cases += 1
            before = len(_lines(tried))
            done = _harness(command, ROOT if "config.yaml" in command[1] else folder, environment)
            attempts = _lines(tried)[before:]
            broken += [f"{' '.join(command)}: {each}" for each in attempts]
            if "Traceback" in done.stderr:
                broken.append(f"{' '.join(command)}: {done.stderr.splitlines()[-1]}")
    return Ordeal("commands with no network but loopback", cases, broken)


def _elsewhere(folder: Path) -> list[str]:
    places = (f"output={folder}/quick", f"cache={folder}/quick-cache")
    return [part for each in places for part in ("--set", each)]


@contextmanager
def _project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="torture-") as made:
        folder = Path(made).resolve()
        small.project(folder)
        (folder / "canary_app.py").write_text(canaries.APP)
        yield folder


def _configurations(folder: Path, url: str) -> None:
    """Write one with a chat model and a judge, one of an HTTP system, one of code, one of all."""
    chat = {"model": "openai:gpt", "base_url": canaries.with_password(f"{url}/v1"), "retries": 1}
    response = {"answer": "$.answer", "contexts": "$.contexts[*]"}
    http = {"url": f"{url}/ask", "response": response, "retries": 1}
    asked = {**http, "headers": {"Authorization": "Bearer ${APP_TOKEN}"}}
    minilm = ["hashing", "sentence_transformer", "wordllama"]
    every: dict[str, Mapping[str, object]] = {
        "judged": {
            "embedders": ["hashing"],
            "retrievers": ["dense", "hyde", "multi_query"],
            "generators": ["extractive", "chat"],
            "metrics": ["token_f1", "faithfulness", "answer_relevance"],
            "chat": chat,
            "judge": chat,
            "oracle": True,
        },
        "http": {"system": {"http": asked}, "metrics": ["token_f1"]},
        "own": {"system": {"python": {"function": "canary_app:ask"}}, "metrics": ["token_f1"]},
        "libraries": {
            "chunkers": ["recursive", "markdown", "semantic", {"cluster_semantic": {}}],
            "embedders": minilm,
            "retrievers": ["dense", "bm25", "hybrid"],
            "metrics": ["token_f1", "bleu", "rougeL", "bertscore_f1", "semantic_similarity"],
            "decide_by": "token_f1",
        },
    }
    for name, settings in every.items():
        places = {"corpus": "corpus", "testset": "testset.jsonl", "max_failures": 1.0}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**places, **settings}))


def _verbs(folder: Path) -> Iterator[list[str]]:
    """Yield the commands; a stored run is named once it is there."""
    for name in ("judged", "http", "own", "libraries"):
        yield ["validate", f"{name}.yaml", "--deep"]
        yield ["run", f"{name}.yaml", "--json"]
    yield ["run", "judged.yaml", "--fresh"]
    yield ["doctor", "judged.yaml"]
    yield ["doctor", "http.yaml", "--json"]
    yield ["judge", "check", "judged.yaml", "--n", "2"]
    yield ["draft", "judged.yaml", "--n", "2", "-o", "drafts.jsonl"]
    runs = sorted(folder.glob("reports/*/run.json"), key=lambda path: path.stat().st_mtime)
    # The first run is that with a judge.
    run = str(runs[0].parent.relative_to(folder)) if runs else "reports/none"
    yield ["score", run, "-m", "faithfulness"]
    yield ["score", run, "-m", "token_f1", "--json"]
    yield ["report", run]
    yield ["compare", run]
    yield ["history", "reports"]
    yield ["rate", run]
    yield ["pool", run, "-o", "pool.jsonl"]
    yield ["export", "csv", run, "-o", "out.csv"]
    yield ["export", "trec", run, "-o", "trec"]
    yield ["baseline", "set", run, "--force"]
    yield ["extract", "corpus", "-o", "texts"]
    yield ["cache", "ls"]


def _harness(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *command],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []
