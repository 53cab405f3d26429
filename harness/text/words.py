"""Words of every script, for counting, cutting, comparing and searching texts.

METRICS.md, section 2, "Words of every script". In scripts that are written without spaces each
grapheme cluster is a word.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby, islice, pairwise
from typing import Any, Literal
from unicodedata import combining, is_normalized, normalize

Tokens = Literal["words", "whitespace"]
"""`words`: lower case, cut as above; `whitespace`: lower case, split at white space."""

_UNSPACED = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\u30FC\uFF70\u3006\u3031-\u3035\u303C]&&[\p{L}\p{M}\p{Nl}]]"
)
"""What begins a word in a script without spaces; for `regex` with its flag V1, as all below."""
_SPACED = rf"[[\p{{L}}\p{{N}}_]--{_UNSPACED}]"
_JOINER = r"[\u200C\u200D]"
_WORD = (
    rf"(?P<cluster>(?={_UNSPACED})\X)"
    rf"|(?P<word>{_SPACED}(?:[{_SPACED}\p{{M}}]|{_JOINER}(?={_SPACED}))*)"
    r"|[^\s\p{M}\p{Cc}\p{Cf}\p{Cs}]"
)
_INSIDE = (
    rf"(?<={_SPACED}\p{{M}}*{_JOINER}?)(?={_SPACED})"
    rf"|(?<={_SPACED}\p{{M}}*)(?=\p{{M}}|{_JOINER}{_SPACED})"
    rf"|(?<={_UNSPACED}[\p{{M}}\u200C\u200D]*)(?=[\p{{M}}\u0E33\u0EB3\u200C\u200D])"
)
"""A place inside a word; the two letters are vowels of Thai and Lao that belong to a cluster."""

# 20 times as fast, and the same on Latin text without marks, control and format characters. The
# dotted capital I is left out because its small letter has a mark.
_LATIN_WORD = re.compile(r"\w+|[^\w\s]")
_NOT_LATIN = re.compile(
    r"[^\t-\r\x1c-\x7e\xa0-\xac\xae-\u012f\u0131-\u02ff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]"
)


@cache
def _compile(pattern: str) -> Any:
    """Compile for `regex`, which takes 0.1 s to import, and which English never needs."""
    import regex

    return regex.compile(pattern, regex.V1)


def _find(text: str) -> Iterator[re.Match[str]]:
    pattern = _compile(_WORD) if _NOT_LATIN.search(text) else _LATIN_WORD
    return pattern.finditer(text)


def tokenise(text: str, tokens: Tokens = "words") -> list[str]:
    """Return the tokens of `text`, in lower case and NFC."""
    if tokens == "whitespace":
        return text.lower().split()
    if not _NOT_LATIN.search(text):
        return _LATIN_WORD.findall(text.lower())
    return [normalise_to("NFC", match[0].lower()) for match in _compile(_WORD).finditer(text)]


def search_terms(text: str) -> list[str]:
    """Return what a text is searched by: its words that have a letter or digit.

    Of neighbouring clusters of a script without spaces these are the overlapping pairs, and of one
    that stands alone the cluster itself.
    """
    if not _NOT_LATIN.search(text):
        return [word for word in re.findall(r"\w+", text.lower()) if word.strip("_")]
    terms: list[str] = []
    run: list[str] = []
    end = 0
    for match in _compile(_WORD).finditer(text):
        word = normalise_to("NFC", match[0].lower())
        if run and (match["cluster"] is None or match.start() > end):
            terms += _pairs(run)
            run = []
        if match["cluster"] is not None:
            run.append(word)
            end = match.end()
        elif match["word"] is not None and word.strip("_"):
            terms.append(word)
    return terms + _pairs(run)


def _pairs(run: list[str]) -> list[str]:
    return [first + second for first, second in pairwise(run)] if len(run) > 1 else run


def is_inside_word(text: str, place: int) -> bool:
    """Return whether the characters before and at a place of `text` belong to the same word."""
    if place <= 0 or place >= len(text):
        return False
    near = text[place - 1 : place + 1]
    if not _NOT_LATIN.search(near):
        return near.replace("_", "a").isalnum()
    return _compile(_INSIDE).match(text, place) is not None


_ARTICLES = frozenset({"a", "an", "the"})
_LATIN_PUNCTUATION = dict.fromkeys(
    code
    for code in (*range(0x300), *range(0x2010, 0x205F))
    if unicodedata.category(chr(code)).startswith("P") or chr(code) in string.punctuation
)


def normalise_answer(text: str) -> list[str]:
    """Return the words of `text` as SQuAD compares them: without punctuation and articles.

    Source: Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", 2016.
    """
    text = text.translate(_LATIN_PUNCTUATION)
    if _NOT_LATIN.search(text):
        text = _compile(r"\p{P}+").sub("", text)
    return [word for word in tokenise(text) if word not in _ARTICLES]


def count(text: str) -> int:
    """Return how many word tokens `text` has: the unit of every token budget."""
    return sum(1 for _ in _find(text))


_count_once = lru_cache(maxsize=4_096)(count)  # the cells of a grid retrieve the same texts
_MAX_CACHED_CHARACTERS = 8_192


def token_starts(text: str) -> list[int]:
    """Return where each word token of `text` starts."""
    return [match.start() for match in _find(text)]


def cut(text: str, budget: int) -> tuple[str, int]:
    """Return the start of `text` that holds at most `budget` tokens, and how many it holds.

    What spends the budget ends with its last token, whether or not a text does there.
    """
    if len(text) <= _MAX_CACHED_CHARACTERS and (tokens := _count_once(text)) < budget:
        return text, tokens
    ends = [match.end() for match in islice(_find(text), budget)]
    if len(ends) < budget:
        return text, len(ends)
    return text[: max(ends, default=0)], budget


_MARKS = re.compile(r"(?:[^\w\s\x00-\u02ff]|[\uff9e\uff9f]){64,}")
"""Where a long run of marks may be: none is a letter, a digit or white space, but for two that
NFKC makes marks of."""
_DECOMPOSED = {
    "NFC": {at: normalize("NFD", chr(at)) for at in (0x0F73, 0x0F75, 0x0F81)},
    "NFKC": {at: normalize("NFKD", chr(at)) for at in (0x0F73, 0x0F75, 0x0F81, 0xFF9E, 0xFF9F)},
}
"""What is no mark for Python, and consists of marks."""


def normalise_to(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return `text` in a normal form.

    Unicode wants the marks of a letter in the order of their classes, and Python moves each one
    past all that it must stand before: quadratic time. Long runs are therefore sorted here, which
    changes nothing in what comes out.
    """

    def ordered(run: re.Match[str]) -> str:
        return _sort_marks(run[0].translate(_DECOMPOSED[form]))

    return text if is_normalized(form, text) else normalize(form, _MARKS.sub(ordered, text))


def _sort_marks(run: str) -> str:
    parts: list[str] = []
    for ordered, group in groupby(run, lambda char: bool(combining(char))):
        parts += sorted(group, key=combining if ordered else bool)
    return "".join(parts)


def normalise(text: str) -> str:
    """Return `text` in the one form that offsets refer to: NFC, line feeds, no byte-order mark."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return normalise_to("NFC", text)
