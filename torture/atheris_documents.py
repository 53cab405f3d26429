"""Bytes that grow towards what has not run yet, over what reads documents byte by byte.

python -m torture.atheris_documents markup -max_total_time=60    # one reader, libFuzzer's options
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from torture.ordeal import Ordeal

SECONDS = int(os.environ.get("HARNESS_ATHERIS_SECONDS", 60))
"""Of each reader."""
READERS = ("text", "markup", "corpus csv", "corpus jsonl", "page")
_SEEDS: Mapping[str, bytes] = {
    "text": b"# A\n\nOne. Two.\n\n- x\n1. y\n\n| a |\n|---|\n\n```\ncode\n```\n> q\n",
    "markup": b"<div><p class='x'>a<li>b<!-- c --><script>d</script></p></div>",
    "corpus csv": b'sep=;\nid;text\n1;"x\n""y"\n',
    "corpus jsonl": b'{"id": "1", "text": "x", "metadata": {"a": 1}}\n',
    "page": b"<meta charset=latin-1><title>a &amp; b</title><p>c",
}


def text() -> Ordeal:
    """Let every reader be fuzzed in a process of its own; nothing where atheris is lacking."""
    what = f"documents of strangers, fuzzed by coverage ({SECONDS} s a reader)"
    if importlib.util.find_spec("atheris") is None:
        return Ordeal(f"{what}: atheris is not installed", 0)
    found = [_fuzzed(reader) for reader in READERS]
    return Ordeal(
        what, sum(many for many, _ in found), [said for _, each in found for said in each]
    )


def _fuzzed(reader: str) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        (seeds / "sound").write_bytes(_SEEDS[reader])
        options = [f"-max_total_time={SECONDS}", "-timeout=20", "-rss_limit_mb=4096", "-seed=9"]
        options += ["-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
        done = subprocess.run(
            [sys.executable, "-m", "torture.atheris_documents", reader, *options, str(seeds)],
            capture_output=True, timeout=SECONDS * 3 + 300, check=False,
            env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
        log = (done.stderr + done.stdout).decode("utf-8", "replace")
        files = [path for path in Path(folder).glob("*-*") if path.is_file()]
        found = [f"{path.name}: {path.read_bytes()!r:.300}" for path in files]
    ran = re.search(r"number_of_executed_units: (\d+)", log)
    many = int(ran[1]) if ran else 0
    if done.returncode == 0 and not found:
        return many, []
    last = next((line for line in log.splitlines() if "rror" in line or "ERROR" in line), "")
    return many, [f"{reader}: {last[:300]} {' '.join(found)}"]


def _read(reader: str, folder: Path) -> Callable[[bytes], str | None]:
    """Return what hands bytes to a reader, and says what it broke."""
    from harness.converting import html
    from tests.fuzzing import documents
    from tests.fuzzing.promise import broken

    if reader.startswith("corpus "):
        suffix = f".{reader.removeprefix('corpus ')}"
        return lambda raw: documents.wrong(suffix, raw, folder)
    if reader == "page":
        return lambda raw: broken(lambda: html.title(str(html.decoded(raw, "page"))))
    return lambda raw: documents.unsound(raw.decode("utf-8", "replace"))


def main() -> None:
    """Fuzz the reader that is named until it breaks the promise, or the time is over."""
    import atheris  # type: ignore[import-not-found, unused-ignore]

    reader = sys.argv.pop(1)
    with atheris.instrument_imports(include=["harness"]):
        read = _read(reader, Path(tempfile.mkdtemp()))

    def one(raw: bytes) -> None:
        problem = read(raw)
        if problem is not None:
            raise AssertionError(problem)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
