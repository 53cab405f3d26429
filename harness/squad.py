"""How the SQuAD evaluation normalises an answer before comparing it.

Source: Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", 2016.
"""

from __future__ import annotations

import re
import string

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> list[str]:
    """Return the words of `text`: lower case, without punctuation marks and articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
