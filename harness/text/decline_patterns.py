"""Patterns that recognise an answer as a decline, for systems that do not report it."""

from __future__ import annotations

import re
from collections.abc import Sequence

DECLINES = (
    r"^\W*(?:sorry[,.]?\s+)?i (?:do not|don't) know\b",
    r"^\W*(?:the (?:provided )?(?:context|documents?) (?:does|do) not|there is no information)\b",
    r"^\W*i (?:cannot|can't|am unable to) (?:answer|find)\b",
    # German, French, Spanish, Chinese, Japanese, Hindi, Arabic
    r"^\W*(?:das|dazu) weiß ich (?:leider )?nicht\b",
    r"^\W*(?:tut mir leid, )?(?:aber )?ich weiß (?:es |das )?(?:leider )?nicht\b",
    r"^\W*(?:der kontext|die dokumente) (?:enthält|enthalten|sagt|sagen) (?:dazu )?(?:keine|nicht)",
    r"^\W*(?:désolée?, )?je ne (?:le )?sais pas\b",
    r"^\W*le (?:contexte|document|texte)(?: fourni)? ne\b",
    r"^\W*(?:lo siento, )?no (?:lo )?sé\b",
    r"^\W*el (?:contexto|documento|texto)(?: proporcionado)? no\b",
    r"^\W*(?:很?抱歉|对不起|對不起)?\W*我?(?:不知道|不清楚|无法(?:回答|确定|找到)|無法(?:回答|確定|找到))",
    r"^\W*(?:根据)?(?:所?提供的|给定的)?(?:上下文|文档|资料)中?(?:没有|并未|未|不包含)",
    r"^\W*(?:申し訳(?:ありません|ございません)が?)?\W*(?:わかりません|分かりません|お答えできません)",
    r"^\W*(?:(?:क्षमा|माफ़?) (?:करें|कीजिए)\W*)?मुझे (?:यह )?(?:नहीं (?:पता|मालूम)|(?:पता|मालूम) नहीं)",
    r"^\W*(?:दिए गए )?(?:संदर्भ|दस्तावेज़?) में .{0,60}नहीं",
    r"^\W*(?:عذرا\W*|آسف\W*)?(?:أنا )?لا (?:أعرف|أعلم|أدري|أستطيع الإجابة)",
    r"^\W*(?:السياق|النص|المستند)(?: المقدم)? لا ",
)


def check_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return patterns as they are.

    Raises:
        ValueError: one is no regular expression.
    """
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{pattern!r}: {error}") from None
    return patterns


def is_decline(answer: str, patterns: Sequence[str] = DECLINES) -> bool:
    """Return whether `answer` is empty or matches a pattern (letter case ignored)."""
    plain = answer.strip().replace("\u2019", "'")
    return not plain or any(re.search(pattern, plain, re.IGNORECASE) for pattern in patterns)
