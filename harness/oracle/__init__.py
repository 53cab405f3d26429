"""The oracle: what a generator makes of perfect retrieval, and of none."""

from __future__ import annotations

from harness.oracle.given import KINDS, Put, puts, wanted

__all__ = ["KINDS", "Put", "puts", "wanted"]
