"""Checks of this machine before a run (`doctor`)."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from harness import fingerprint
from harness.config.resolved import RunConfig
from harness.files.requirements import check_requirements, install_command, read_requirements
from harness.models import runtime
from harness.models.runtime import processor
from harness.preflight import room, services
from harness.preflight.services import Fact
from harness.text.numbers import count

__all__ = ["Fact", "run_checks"]

_DAY_SECONDS = 86_400
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


def run_checks(config: RunConfig | None) -> Iterator[tuple[str, Fact]]:
    """Yield every check's facts, each with the name of its check.

    Without a configuration they are those that hold for any run. Nothing is spent: no model is
    loaded or asked, nothing is fetched, and no file is left behind. Connections are made to the
    servers that the configuration names, and to no others.
    """
    used = services.used_services(config)
    facts_by_check = {
        "versions": _check_versions(),
        "processor": _check_processor(),
        "models": services.check_models(used),
        "servers": services.check_servers(used, config),
        "cluster": services.check_cluster(config),
        "network": services.check_network(used),
        "room": room.check_room(config, used),
        "folders": room.check_folders(config),
        "clock": _check_clock(),
    }
    for check, facts in facts_by_check.items():
        for fact in facts:
            yield check, fact


def _check_versions() -> Iterator[Fact]:
    """Yield Python and the harness, each library in a wrong version, and which extras are whole."""
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
    missing: list[str] = []
    for extra, requirements in required.extras.items():
        if extra == "dev":  # for people who work on the harness itself
            continue
        libraries = check_requirements(requirements)
        missing += [extra] if any(library.missing for library in libraries) else []
        for library in libraries:
            if library.problem is not None and not library.missing:
                text = f"extra [{extra}]: {library.problem}"
                yield Fact("warning", text, install_command(extra))
    yield Fact("ok", f"extras that are not installed: {', '.join(missing) or 'none'}")


def _check_processor() -> Iterator[Fact]:
    """Yield the processor, then what runs encoders."""
    yield Fact("ok", f"{count(processor.cores(), 'core')} of {processor.name()}")
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


def _check_clock() -> Iterator[Fact]:
    """Yield the time in UTC; the clock must not be behind the installed files."""
    now, installed = time.time(), Path(fingerprint.__file__).stat().st_mtime
    text = f"the clock says {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC"
    if now < installed - _DAY_SECONDS:
        message = f"{text}; the harness's files are of {datetime.fromtimestamp(installed, UTC):%F}"
        yield Fact("problem", message, "set the clock: samples of the day and history go by it")
    else:
        yield Fact("ok", text)
