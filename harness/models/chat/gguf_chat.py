"""Chat backend for local models: a GGUF file, run in this process."""

from __future__ import annotations

import atexit
import json
import re
import secrets
import struct
from functools import lru_cache
from pathlib import Path
from threading import Event, Lock, Thread, main_thread
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.errors import MissingExtra, ModelError, StageError
from harness.fingerprint import sha256_of, versions
from harness.models.chat.settings import ChatReply, ChatSettings
from harness.models.runtime import processor

if TYPE_CHECKING:
    from xllamacpp import Server

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of each kind of number."""
_TOKENS, _KINDS = b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"
_UNKNOWN, _CONTROL = 2, 3
_MIN_MARK_CHARS = 3
"""Nothing shorter is taken for a mark: it may be a letter."""
_LIBRARY = "xllamacpp"
_RANDOM_SEED = 2**32 - 1
"""The seed that the library takes for none."""
_TURN = Lock()
"""Models take turns: each uses all the cores there are."""


def check(chat: ChatSettings) -> None:
    """Open the file, which finds one that is missing, no GGUF file, or too large."""
    with _TURN:
        _open(_path(chat), chat.window)


def ask(chat: ChatSettings, prompt: str) -> ChatReply:
    """Ask the model once; nothing of the prompts before it is left to it."""
    path = _path(chat)
    with _TURN:
        server = _open(path, chat.window)
    request = {
        "messages": [{"role": "user", "content": break_control_tokens(prompt, path)}],
        "temperature": chat.temperature,
        "max_tokens": chat.max_tokens,
        "cache_prompt": False,
        "stream": True,
        "stream_options": {"include_usage": True},
        **({} if chat.seed is None else {"seed": chat.seed % _RANDOM_SEED}),
    }
    with _TURN:
        chunks = _stream_reply(server, json.dumps(request))
    reply = _join_pieces(chunks, path.name)
    if reply.finish == "length" and (reply.tokens_out or 0) < chat.max_tokens:
        raise StageError(
            f"the window of {chat.window} tokens holds the prompt ({reply.tokens_in}) and only "
            f"{reply.tokens_out} of max_tokens={chat.max_tokens}; set a larger `window`"
        )
    return reply


def identity(chat: ChatSettings) -> dict[str, Any]:
    """Return what the file holds and what runs it; where it lies shapes nothing."""
    path = _path(chat)
    stat = path.stat()
    return {"model": _digest(path, stat.st_mtime_ns, stat.st_size), **versions(_LIBRARY)}


def _path(chat: ChatSettings) -> Path:
    """Return the path of the model's file.

    Raises:
        ModelError: there is no such file, or it is not a GGUF file.
    """
    path = Path(chat.file or "")
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelError(
            f"chat model {chat.shown!r}: {chat.file!r} cannot be read: {why}"
        ) from None
    if start != _MAGIC:
        raise ModelError(f"chat model {chat.shown!r}: {chat.file!r} is not a GGUF file")
    return path


@lru_cache
def _digest(path: Path, modified: int, size: int) -> str:
    return f"sha256:{sha256_of(path)}"


@lru_cache(maxsize=2)
def _open(path: Path, window: int) -> Server:
    """Open a file; two stay open, for a model that answers and one that judges."""
    try:
        import xllamacpp
    except ModuleNotFoundError:
        raise MissingExtra(f"chat model 'gguf:{path.name}'", _LIBRARY, "local-llm") from None
    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = window
    settings.n_parallel = 1
    settings.warmup = False
    settings.cache_prompt = False
    settings.cache_ram_mib = 0
    settings.verbosity = -1
    for threads in (settings.cpuparams, settings.cpuparams_batch):
        threads.n_threads = processor.cores()
    # The library listens on this machine whether or not anybody calls; only this process has a key.
    settings.port = 0
    settings.api_keys = [secrets.token_urlsafe()]
    settings.ui = False
    settings.endpoint_metrics = True
    try:
        server: Server = xllamacpp.Server(settings)
    except RuntimeError:
        raise ModelError(
            f"chat model 'gguf:{path.name}' cannot be opened by xllamacpp: is the file whole, of a "
            f"chat model, and is there memory for it and a window of {window} tokens?"
        ) from None
    # Closed before it works, the library waits for ever: so a first answer is awaited.
    server.handle_metrics()
    atexit.register(_open.cache_clear)
    return server


def _stream_reply(server: Server, request: str) -> list[str]:
    """Return the pieces of a reply; an interrupt, or the end of the process, ends it early.

    The library cannot be interrupted, so it runs in a thread that can be asked to stop. That is no
    daemon: a process that ends while the library calculates crashes.
    """
    pieces: list[str] = []
    stopped: list[bool] = []

    def ends() -> bool:
        return bool(stopped) or not main_thread().is_alive()

    def take(piece: str) -> bool:
        pieces.append(piece)
        return ends()

    if ends():
        return []
    answered = Event()

    def answer() -> None:
        try:
            server.handle_chat_completions(request, take)
        finally:
            answered.set()

    Thread(target=answer, name="local model", daemon=False).start()
    try:
        # Not `join`: where that is interrupted, Python 3.11 takes a thread that runs for ended.
        answered.wait()
    finally:
        stopped.append(True)
        answered.wait()
    return pieces


def _join_pieces(pieces: list[str], name: str) -> ChatReply:
    """Return the reply that was sent in pieces."""
    text, finish = "", None
    usage: dict[str, int] = {}
    for piece in pieces:
        chunk = json.loads(piece)
        if "error" in chunk:
            raise StageError(_describe_error(chunk["error"]))
        for choice in chunk["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice["finish_reason"] or finish
        usage = chunk.get("usage") or usage
    if finish is None:
        raise StageError("it was stopped before its reply was whole")
    return ChatReply(text, usage.get("prompt_tokens"), usage.get("completion_tokens"), name, finish)


def _describe_error(error: dict[str, Any]) -> str:
    if error.get("type") != "exceed_context_size_error":
        return str(error.get("message"))
    return (
        f"the prompt has {error['n_prompt_tokens']} tokens, and the window {error['n_ctx']}; "
        "set a larger `window`, or send less context"
    )


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
