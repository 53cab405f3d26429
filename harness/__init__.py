"""End-to-end evaluation of retrieval-augmented generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.fingerprint import __version__

if TYPE_CHECKING:
    from harness.api import apply_gate as apply_gate
    from harness.api import compare as compare
    from harness.api import open_run as open_run
    from harness.api import read_history as read_history
    from harness.api import run_config as run
    from harness.files.trec import read_qrels as read_qrels
    from harness.files.trec import read_run as read_run
    from harness.report.run_result import Run as Run
    from harness.runs.evaluate_answers import evaluate_answers as evaluate_answers
    from harness.runs.evaluate_rankings import evaluate_run as evaluate_run
    from harness.runs.evaluate_system import evaluate as evaluate
    from harness.runs.evaluation import Evaluation as Evaluation
    from harness.stats.calibration import calibrate as calibrate
    from harness.stats.corrected_mean import corrected_mean as corrected_mean

__all__ = [
    "Evaluation",
    "Run",
    "__version__",
    "apply_gate",
    "calibrate",
    "compare",
    "corrected_mean",
    "evaluate",
    "evaluate_answers",
    "evaluate_run",
    "open_run",
    "read_history",
    "read_qrels",
    "read_run",
    "run",
]

_HOMES = {
    "Evaluation": "runs.evaluation",
    "Run": "report.run_result",
    "apply_gate": "api",
    "calibrate": "stats.calibration",
    "compare": "api",
    "corrected_mean": "stats.corrected_mean",
    "evaluate": "runs.evaluate_system",
    "evaluate_answers": "runs.evaluate_answers",
    "evaluate_run": "runs.evaluate_rankings",
    "open_run": "api",
    "read_history": "api",
    "read_qrels": "files.trec",
    "read_run": "files.trec",
    "run": "api:run_config",
}


def __getattr__(name: str) -> Any:
    """Import the library's functions when they are asked for, so that `--help` need not."""
    if name in _HOMES:
        from importlib import import_module

        module, _, other_name = _HOMES[name].partition(":")
        return getattr(import_module(f"harness.{module}"), other_name or name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
