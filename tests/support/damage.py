"""Damage to files: every way a byte, a file or a place in a folder can go wrong."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path


def damaged(whole: bytes, seed: int, times: int = 200) -> Iterator[bytes]:
    """Yield `whole` with one byte other than it was, at random places and each of the first."""
    draw = random.Random(seed)
    places = [*range(min(100, len(whole)))]
    places += [draw.randrange(len(whole)) for _ in range(times if whole else 0)]
    for at in places:
        changed = bytearray(whole)
        changed[at] ^= draw.randrange(1, 256)
        yield bytes(changed)


def shortened(whole: bytes, seed: int, times: int = 40) -> Iterator[bytes]:
    """Yield the beginning of `whole`, of random length; the first is empty."""
    draw = random.Random(seed)
    for length in (0, *(draw.randrange(len(whole)) for _ in range(times))):
        yield whole[:length]


def harmed(whole: bytes, draw: random.Random) -> tuple[str, bytes | None]:
    """Return how a file was harmed, in words, and what it is then; None: a folder lies there."""
    at = draw.randrange(max(1, len(whole)))
    lines = whole.splitlines(keepends=True) or [b""]
    row = draw.randrange(len(lines))
    other = draw.randrange(len(lines))
    digits = [each for each in range(len(whole)) if whole[each : each + 1].isdigit()] or [0]
    digit = draw.choice(digits)
    swapped = [*lines]
    swapped[row], swapped[other] = swapped[other], swapped[row]
    ways: dict[str, bytes | None] = {
        f"byte {at} changed": whole[:at] + bytes([draw.randrange(256)]) + whole[at + 1 :],
        f"digit {digit} changed": whole[:digit] + b"%d" % draw.randrange(10) + whole[digit + 1 :],
        f"cut at {at}": whole[:at],
        f"line {row + 1} dropped": b"".join(lines[:row] + lines[row + 1 :]),
        f"line {row + 1} doubled": b"".join([*lines[: row + 1], *lines[row:]]),
        f"lines {row + 1} and {other + 1} swapped": b"".join(swapped),
        "empty": b"",
        "garbage": draw.randbytes(3_000),
        "a folder": None,
    }
    return draw.choice(list(ways.items()))


def garbage(seed: int) -> bytes:
    """Return bytes that mean nothing."""
    return random.Random(seed).randbytes(3_000)


def into_folder(path: Path) -> None:
    """Put a folder, with a file in it, in the place of a file."""
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "file").write_text("in the way")


def unsealed(run: Path) -> None:
    """Have a stored run read as it is, whoever changed it: as one of before there were sums."""
    (run / "sums.json").unlink()


def restored(folder: Path, whole: dict[str, bytes]) -> None:
    """Make a folder hold these files and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in whole.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
