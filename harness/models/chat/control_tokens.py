"""Control tokens of a GGUF file: what a chat template is made of, and no text may hold."""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from harness.errors import ModelError

_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of each kind of number."""
_TOKENS, _KINDS = b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"
_UNKNOWN, _CONTROL = 2, 3
_MIN_MARK_CHARS = 3
"""Nothing shorter is taken for a mark: it may be a letter."""


def break_control_tokens(text: str, path: Path) -> str:
    """Return `text` with a space in each control token that is written in it.

    The library takes them, wherever they stand in a prompt, for the marks that its template puts
    between speakers, so a document could pose as one.

    Raises:
        ModelError: the file's list of tokens cannot be read.
    """
    stat = path.stat()
    marks = _marks(path, stat.st_mtime_ns, stat.st_size)
    return text if marks is None else marks.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


@lru_cache
def _marks(path: Path, modified: int, size: int) -> re.Pattern[str] | None:
    try:
        with path.open("rb") as file:
            tokens, kinds = _vocabulary(file)
    except (OSError, struct.error, KeyError, OverflowError, MemoryError):
        raise ModelError(f"chat model 'gguf:{path.name}': its tokens cannot be read") from None
    special = {
        token.decode("utf-8", "replace")
        for token, kind in zip(tokens, kinds, strict=False)
        if kind in (_UNKNOWN, _CONTROL)
    }
    texts = sorted(
        (text for text in special if len(text) >= _MIN_MARK_CHARS), key=len, reverse=True
    )
    return re.compile("|".join(map(re.escape, texts))) if texts else None


def _vocabulary(file: BinaryIO) -> tuple[list[bytes], tuple[int, ...]]:
    """Return the text of each token, and its kind; nothing for a file that has none."""
    file.seek(8)  # its magic and version
    _, entries = _read(file, "QQ")
    tokens: list[bytes] = []
    kinds: tuple[int, ...] = ()
    for _ in range(entries):
        key = _string(file)
        (kind,) = _read(file, "I")
        if kind != _ARRAY:
            _skip(file, kind, 1)
            continue
        inner, length = _read(file, "IQ")
        if key == _TOKENS and inner == _STRING:
            tokens = [_string(file) for _ in range(length)]
        elif key == _KINDS and _SIZES.get(inner) == struct.calcsize("i"):
            kinds = _read(file, f"{length}i")
        else:
            _skip(file, inner, length)
        if tokens and kinds:
            break
    return tokens, kinds


def _string(file: BinaryIO) -> bytes:
    (length,) = _read(file, "Q")
    return file.read(length)


def _skip(file: BinaryIO, kind: int, times: int) -> None:
    if kind == _STRING:
        for _ in range(times):
            _string(file)
    else:
        file.seek(_SIZES[kind] * times, 1)


def _read(file: BinaryIO, form: str) -> tuple[int, ...]:
    packed = struct.Struct(f"<{form}")
    values: tuple[int, ...] = packed.unpack(file.read(packed.size))
    return values
