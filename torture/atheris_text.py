"""Bytes that grow towards what has not run yet: atheris over what reads text byte by byte.

python -m torture.atheris_text yaml -max_total_time=60    # one reader, by libFuzzer's options
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.metrics import named_metrics
from torture import grown
from torture.ordeal import Ordeal

_SEEDS: Mapping[str, bytes] = {
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
    return grown.ordeal("text of strangers", "torture.atheris_text", _SEEDS)


def _read(reader: str, folder: Path) -> Callable[[bytes], str | None]:
    """Return what hands bytes to a reader, and says what it broke."""
    from harness import registry
    from harness.files import csv_rows, json_lines, trec, yaml_lines
    from harness.systems import json_paths
    from harness.systems.json_paths import Paths
    from harness.testset import trec_questions as topics
    from tests.fuzzing.promise import broken

    path = folder / "file"
    paths = Paths(answer="$.answer", contexts="$.contexts[*].text", scores="$.contexts[*].score")

    def of_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
        def written(raw: bytes) -> object:
            path.write_bytes(raw)
            return read(path)

        return written

    def metric(raw: bytes) -> object:
        spec = raw.decode("utf-8", "replace")
        return registry.parse(spec), named_metrics.build_metric(spec).name

    call = {
        "yaml": of_file(lambda path: yaml_lines.read(path, "f.yaml").lines),
        "jsonl": of_file(json_lines.read),
        "csv": csv_rows.parse,
        "trec": lambda raw: [*topics._parse_topics(raw.decode("utf-8", "replace"))],
        "qrels": of_file(lambda path: (trec.read_qrels(path), trec.read_run(path))),
        "metric": metric,
        "reply": lambda raw: json_paths.read(raw.decode("utf-8", "replace"), paths),
    }[reader]
    return lambda raw: broken(lambda: call(raw))


if __name__ == "__main__":
    grown.fuzz(_read, ["harness", "yaml"])
