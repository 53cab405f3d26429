"""What is installed, what calculates, and what time it is."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from harness import fingerprint
from harness.files.requirements import check_requirements, install_command, read_requirements
from harness.models import runtime
from harness.models.runtime import processor
from harness.preflight.machine.machine_facts import Fact
from harness.text.numbers import count

_DAY_SECONDS = 86_400
_INSTRUCTIONS = {
    "AVX2": {"avx2"},
    "AVX-512": {"avx512f"},
    "VNNI": {"avx512_vnni", "avx_vnni"},
    "bfloat16": {"avx512_bf16", "amx_bf16", "bf16"},
    "AMX": {"amx_tile"},
    "NEON": {"asimd", "neon"},
}
"""Sets of instructions, and what Linux calls them."""
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


def check_versions() -> Iterator[Fact]:
    """Yield Python and the harness, each library that does not fit, and how many fit."""
    from packaging.specifiers import SpecifierSet

    text = f"Python {platform.python_version()}, harness {fingerprint.__version__}"
    required = read_requirements()
    if required is None:
        message = f"{text}, which is not installed: what it asks for is not known"
        yield Fact("warning", message, "install it from its checkout: pip install -e .")
        return
    if SpecifierSet(required.python).contains(platform.python_version(), prereleases=True):
        yield Fact("ok", text)
    else:
        message = f"{text}, which asks for Python {required.python}"
        yield Fact("problem", message, "make an environment with such a Python")
    libraries = check_requirements(required.always)
    for library in libraries:
        if library.problem is not None:
            yield Fact("problem", library.problem, f"pip install '{library.pip}'")
    fit = sum(library.problem is None for library in libraries)
    yield Fact("ok", f"{fit} of {len(libraries)} libraries are there in a version asked for")


def check_extras() -> Iterator[Fact]:
    """Yield libraries of an extra in a wrong version, and which extras are whole."""
    required = read_requirements()
    extras = {} if required is None else {**required.extras}
    extras.pop("dev", None)  # for people who work on the harness itself
    installed: list[str] = []
    missing: list[str] = []
    for extra, requirements in extras.items():
        libraries = check_requirements(requirements)
        (missing if any(library.missing for library in libraries) else installed).append(extra)
        for library in libraries:
            if library.problem is not None and not library.missing:
                remedy = install_command(extra)
                yield Fact("warning", f"extra [{extra}]: {library.problem}", remedy)
    if extras:
        absent = f"; not installed: {', '.join(missing)}" if missing else ""
        yield Fact("ok", f"{', '.join(installed) or 'none'}{absent}")


def check_processor() -> Iterator[Fact]:
    """Yield cores and instructions, then what runs encoders."""
    flags = processor.instructions()
    names = [name for name, wanted in _INSTRUCTIONS.items() if wanted & flags]
    text = f"{count(processor.cores(), 'core')} of {processor.name()}"
    if flags and platform.machine() in ("x86_64", "AMD64") and "AVX2" not in names:
        message = f"{text}, without AVX2: embedding takes many times as long"
        remedy = "embed on another machine: the vectors kept in the cache serve on this one"
        yield Fact("warning", message, remedy)
    else:
        known = ", ".join(names) if flags else "its instructions are not known here"
        yield Fact("ok", f"{text}: {known}")
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        yield Fact("warning", "torch is not installed: no model can embed", "pip install torch")
        return
    beside = ""
    if runtime.default_runtime() == "openvino":
        beside = f", OpenVINO {metadata.version('openvino')} beside it"
    # Asking torch takes seconds, and without a driver its answer is known.
    if not _NVIDIA_DRIVER.exists():
        yield Fact("ok", f"torch {torch} on the processor{beside}")
    elif processor.device() == "cuda":
        card, precision = processor.card_name(), processor.default_precision()
        yield Fact("ok", f"torch {torch} on {card}, in {precision}{beside}")
    else:
        remedy = "install a build of torch with CUDA, where it is to embed"
        yield Fact("warning", f"torch {torch} does not use the NVIDIA card{beside}", remedy)


def check_clock() -> Iterator[Fact]:
    """Yield the time in UTC; the clock must not be behind the installed files."""
    now, installed = time.time(), Path(fingerprint.__file__).stat().st_mtime
    text = f"the clock says {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC"
    if now < installed - _DAY_SECONDS:
        message = f"{text}; the harness's files are of {datetime.fromtimestamp(installed, UTC):%F}"
        yield Fact("problem", message, "set the clock: samples of the day and history go by it")
    else:
        yield Fact("ok", text)
