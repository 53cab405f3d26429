"""Texts, values and files that are nearly right, and what hurts wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

NASTY = (
    "", " ", "\0", "\t", "\r", "\n\n", "﻿", "\x1b[31m", "\u202e", "\u2028", "\x85", "é", "𝔘", "ﬁ",
    "'", '"', "\\", "`", "{", "}", "[", "]", "(", ")", ",", ":", ": ", "- ", "#", "|", ">", "&a ",
    "*a", "<<", "<<: *a", "!!binary ", "!!set ", "!!timestamp ", "!!float ", "!!python/name:os ",
    "? ", "---\n", "...", "%YAML 9.9\n", "~", "null", "yes", "=", "@", "@5", "@0", "@5t", "$",
    ".inf", "-.inf", ".nan", "NaN", "Infinity", "-Infinity", "1e400", "1e999999", "-0", "0x1F",
    "0o7", "1_0", "190:20:30", "1:2.5", "2026-13-45", "2026-11-21", "2026-11-21T25:61:00Z",
    "${X", "9" * 30, "9" * 5000, "-1", "0.1", "١", "\\ud800", '"\\ud800"', "[" * 60, "{a: " * 60,
    "(" * 40, "x" * 3000, "../../etc/passwd", "/dev/null", "/", "..", "a\nb", "q1", "none",
)  # fmt: skip
nasty = st.one_of(st.sampled_from(NASTY), st.text(max_size=8))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 1, 2**63, -(2**64), 10**30, 10**400]),
    st.floats(),
    nasty,
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(nasty, inner, max_size=4)),
    max_leaves=8,
)


def as_json(value: Any) -> str:
    """Return a value as JSON; what is no number is written as Python does, to be refused."""
    return json.dumps(value, default=str)


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds with up to four edits: bytes taken out, put in, or doubled."""
    found = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(found)))
        until = min(len(found), at + draw(st.sampled_from([0, 0, 1, 3, 20])))
        put = draw(
            st.one_of(nasty.map(_encoded), st.binary(max_size=4), st.just(found[at : at + 40]))
        )
        found = found[:at] + put + found[until:]
    how = draw(st.sampled_from([None] * 20 + ["utf-16", "bom"]))
    if how == "bom":
        return b"\xef\xbb\xbf" + found
    return found if how is None else found.decode("utf-8", "replace").encode(how)


@st.composite
def rows(draw: st.DrawFn, keys: Sequence[str], sound: Sequence[Any]) -> bytes:
    """Return JSON Lines: sound objects, and some with keys left out, put in or of another kind."""
    lines = []
    for _ in range(draw(st.integers(0, 4))):
        row = dict(draw(st.sampled_from(sound)))
        for _ in range(draw(st.integers(0, 3))):
            key = draw(st.one_of(st.sampled_from(keys), nasty))
            if draw(st.booleans()):
                row[key] = draw(values)
            else:
                row.pop(key, None)
        lines.append(as_json(row))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@st.composite
def tables(draw: st.DrawFn, columns: Sequence[str]) -> bytes:
    """Return a CSV file with some of the columns, and cells of any kind."""
    header = draw(st.lists(st.one_of(st.sampled_from(columns), nasty), min_size=1, max_size=5))
    by = draw(st.sampled_from([",", ";", "\t", "|"]))
    quote = draw(st.booleans())
    lines = [header, *draw(st.lists(st.lists(nasty, min_size=1, max_size=5), max_size=4))]
    texts = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' if quote else cell for cell in line]
             for line in lines]  # fmt: skip
    return "\n".join(by.join(line) for line in texts).encode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
