"""Local: a GGUF file, run in this process."""

from __future__ import annotations

import atexit
import json
import secrets
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread, main_thread
from typing import TYPE_CHECKING, Any

from harness.chat import ChatModel, Reply, control
from harness.errors import MissingExtra, ModelError, StageError
from harness.fingerprint import sha256_of, versions
from harness.runtime import processor

if TYPE_CHECKING:
    from xllamacpp import Server

_MAGIC = b"GGUF"
_LIBRARY = "xllamacpp"
_RANDOM = 2**32 - 1
"""The seed that the library takes for none."""
_TURN = Lock()
"""Models take turns: each uses all the cores there are."""


def check(chat: ChatModel) -> None:
    """Open the file, which finds one that is missing, no GGUF file, or too large."""
    with _TURN:
        _open(_path(chat), chat.window)


def ask(chat: ChatModel, prompt: str) -> Reply:
    """Ask the model once; nothing of the prompts before it is left to it."""
    path = _path(chat)
    with _TURN:
        opened = _open(path, chat.window)
    asked = {
        "messages": [{"role": "user", "content": control.broken(prompt, path)}],
        "temperature": chat.temperature,
        "max_tokens": chat.max_tokens,
        "cache_prompt": False,
        "stream": True,
        "stream_options": {"include_usage": True},
        **({} if chat.seed is None else {"seed": chat.seed % _RANDOM}),
    }
    with _TURN:
        chunks = _streamed(opened, json.dumps(asked))
    reply = _joined(chunks, path.name)
    if reply.finish == "length" and (reply.tokens_out or 0) < chat.max_tokens:
        raise StageError(
            f"the window of {chat.window} tokens holds the prompt ({reply.tokens_in}) and only "
            f"{reply.tokens_out} of max_tokens={chat.max_tokens}; set a larger `window`"
        )
    return reply


def identity(chat: ChatModel) -> dict[str, Any]:
    """Return what the file holds and what runs it; where it lies shapes nothing."""
    path = _path(chat)
    about = path.stat()
    return {"model": _digest(path, about.st_mtime_ns, about.st_size), **versions(_LIBRARY)}


def _path(chat: ChatModel) -> Path:
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
        opened: Server = xllamacpp.Server(settings)
    except RuntimeError:
        raise ModelError(
            f"chat model 'gguf:{path.name}' cannot be opened by xllamacpp: is the file whole, of a "
            f"chat model, and is there memory for it and a window of {window} tokens?"
        ) from None
    # Closed before it has begun to work, the library waits for ever: so a first answer is awaited.
    opened.handle_metrics()
    atexit.register(_open.cache_clear)
    return opened


def _streamed(server: Server, asked: str) -> list[str]:
    """Return the pieces of a reply; an interrupt, or the end of the process, ends it early.

    The library cannot be interrupted, so it runs in a thread that can be told to stop. That is no
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
    call: Callable[..., None] = server.handle_chat_completions
    thread = Thread(target=call, args=(asked, take), name="local model", daemon=False)
    thread.start()
    try:
        thread.join()
    finally:
        stopped.append(True)
        thread.join()
    return pieces


def _joined(pieces: list[str], name: str) -> Reply:
    """Return the reply that was sent in pieces."""
    text, finish = "", None
    usage: dict[str, int] = {}
    for piece in pieces:
        said = json.loads(piece)
        if "error" in said:
            raise StageError(_why(said["error"]))
        for choice in said["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice["finish_reason"] or finish
        usage = said.get("usage") or usage
    if finish is None:
        raise StageError("it was stopped before its reply was whole")
    return Reply(text, usage.get("prompt_tokens"), usage.get("completion_tokens"), name, finish)


def _why(error: dict[str, Any]) -> str:
    if error.get("type") != "exceed_context_size_error":
        return str(error.get("message"))
    return (
        f"the prompt has {error['n_prompt_tokens']} tokens, and the window {error['n_ctx']}; "
        "set a larger `window`, or send less context"
    )
