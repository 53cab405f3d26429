"""Bytes that grow towards what has not run yet: atheris over what reads text byte by byte.

python -m torture.atheris_text yaml -max_total_time=60    # one reader, by libFuzzer's options
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from torture.ordeal import Ordeal

SECONDS = int(os.environ.get("HARNESS_ATHERIS_SECONDS", 60))
"""Of each reader."""
READERS = ("yaml", "jsonl", "csv", "trec", "qrels", "metric", "reply")
_SEEDS = {
    "yaml": b"corpus: &a [x, *a]\nseed: 0x1F\nb: {<<: {c: 1:30}, d: !!set {e}}\n",
    "jsonl": b'{"question": "a", "documents": {"m": 1e3}}\n',
    "csv": b'sep=;\na;"b"\n1;"x\n""y"\n',
    "trec": b"<top>\n<num> Number: 1\n<title> Moon\n</top>\n",
    "qrels": b"q1 0 d1 1\n",
    "metric": b'composite(weights=0.5*recall(labels="documents")@5 + 0.5*ndcg@2)',
    "reply": b'{"answer": "a", "contexts": [{"text": "t", "id": "m", "score": 1e3}], "tokens": 3}',
}


def text() -> Ordeal:
    """Let every reader be fuzzed in a process of its own; nothing where atheris is lacking."""
    what = f"text of strangers, fuzzed by coverage ({SECONDS} s a reader)"
    if importlib.util.find_spec("atheris") is None:
        return Ordeal(f"{what}: atheris is not installed", 0)
    cases, said = 0, []
    for reader in READERS:
        many, problem = _fuzzed(reader)
        cases += many
        said += problem
    return Ordeal(what, cases, said)


def _fuzzed(reader: str) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        (seeds / "sound").write_bytes(_SEEDS[reader])
        options = [f"-max_total_time={SECONDS}", "-timeout=20", "-rss_limit_mb=4096", "-seed=9"]
        options += ["-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
        done = subprocess.run(
            [sys.executable, "-m", "torture.atheris_text", reader, *options, str(seeds)],
            capture_output=True, timeout=SECONDS * 3 + 300, check=False,
            env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
        log = done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")
        ran = re.search(r"number_of_executed_units: (\d+)", log)
        found = [
            f"{path.name}: {path.read_bytes()!r:.300}"
            for path in Path(folder).glob("*-*")
            if path.is_file()
        ]
    if done.returncode == 0 and not found:
        return int(ran[1]) if ran else 0, []
    last = next((line for line in log.splitlines() if "Error" in line or "ERROR" in line), "")
    return int(ran[1]) if ran else 0, [f"{reader}: {last[:300]} {' '.join(found)}"]


def _read(reader: str, folder: Path) -> Callable[[bytes], object]:
    """Return what hands bytes to a reader."""
    from harness import jsonl, jsonreply, registry, scoring, trec, yamlfile
    from harness.converting import table
    from harness.jsonreply import Paths
    from harness.testset import trec as topics

    path = folder / "file"
    paths = Paths(answer="$.answer", contexts="$.contexts[*].text", scores="$.contexts[*].score")

    def of_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
        def call(raw: bytes) -> object:
            path.write_bytes(raw)
            return read(path)

        return call

    def metric(raw: bytes) -> object:
        spec = raw.decode("utf-8", "replace")
        return registry.parse(spec), scoring.build(spec).name

    return {
        "yaml": of_file(lambda path: yamlfile.read(path, "f.yaml").lines),
        "jsonl": of_file(jsonl.read),
        "csv": table.rows,
        "trec": lambda raw: [*topics._topics(raw.decode("utf-8", "replace"))],
        "qrels": of_file(lambda path: (trec.read_qrels(path), trec.read_run(path))),
        "metric": metric,
        "reply": lambda raw: jsonreply.read(raw.decode("utf-8", "replace"), paths),
    }[reader]


def main() -> None:
    """Fuzz the reader that is named until it breaks the promise, or the time is over."""
    import atheris

    reader = sys.argv.pop(1)
    with atheris.instrument_imports(include=["harness", "yaml"]):
        from tests.fuzzing.promise import broken

        read = _read(reader, Path(tempfile.mkdtemp()))

    def one(raw: bytes) -> None:
        problem = broken(lambda: read(raw))
        if problem is not None:
            raise AssertionError(problem)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
