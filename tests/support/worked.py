"""Arithmetic in sentences, done again: `(1/1 + 2/4) / 3 = 0.5`."""

import math
import re
from itertools import pairwise

TERM = r"(?:log₂|[\d.()+−×/^ ])"
SUM = re.compile(rf"{TERM}+(?:={TERM}+)+")


def sums(said):
    """Return each chain of equal terms in a sentence, as pairs of texts."""
    for found in SUM.finditer(said):
        sides = [side.strip(" .") for side in found[0].split("=")]
        yield from pairwise([side for side in sides if side])


def worked_out(term):
    """Return what an arithmetic term comes to."""
    if not re.fullmatch(rf"{TERM}+", term):
        raise AssertionError(f"{term!r} is no arithmetic")
    for sign, written in {"−": "-", "×": "*", "^": "**", "log₂": "log2"}.items():
        term = term.replace(sign, written)
    return eval(term, {"__builtins__": {}, "log2": math.log2})


def rounding(value):
    """Return how far from a printed value what it stands for may lie."""
    return 0.6 * 10 ** -len(value.partition(".")[2])
