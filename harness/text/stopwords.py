"""Stop words: what a search, and the extractive generator, leave out of a text."""

from __future__ import annotations

from functools import cache
from typing import Literal

Language = Literal[
    "english", "danish", "dutch", "french", "german", "italian", "norwegian", "portuguese",
    "russian", "spanish", "swedish", "turkish",
]  # fmt: skip
"""Languages that share their script with others, so that a run has to name its own."""

_ENGLISH = """
a about after all also an and any are as at be because been before being but by can could did do
does during each for from had has have he her his how i if in into is it its many may me more most
much must my no nor not of off on once only or other our out over own per same shall she should so
some such than that the their them then there these they this those to under until up us was we
were what when where which while who whom whose why will with would you your
"""
# What a question consists of, in languages that their script alone tells apart. Chinese and
# Japanese are searched by pairs.
_OTHER_SCRIPTS = """
في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين اين كيف كم لماذا هل أي اي
هو هي هم كان كانت يكون تكون قد لقد لم لن لا ليس ليست إن ان أن أنه أنها كما أو او ثم و بعد قبل بين
عند حتى كل بعض غير منذ خلال حول به بها له لها فيه فيها منه منها عليه عليها لأن لكن إذا اذا عندما
حيث تم وهو وهي ومن وفي مما وقد نحن أنا أنت

का की के को में से ने पर और या है हैं था थे थी थीं हो होता होती होते हुआ हुई हुए कि जो यह ये वह वे इस
इसके इसकी इसका इसे इन उन उस उसके उसकी उसका एक क्या कौन कब कहाँ कहां कैसे क्यों किस किसने किसके किसकी
कितने कितना कितनी भी ही तो तक लिए साथ द्वारा अपने अपनी अपना नहीं न कर करने करता करते करती किया की गया
गई गए जाता जाती जाते रहा रही रहे सकता सकते सकती जब तब

什么 多少 哪些 哪个 哪种 怎么 如何 是否 几个 何时 何处 谁的 的是 了什 是什 的什 一个
我们 他们 这个 那个 です ます した して いる ある どの どこ なに なぜ いつ だれ ので から まで とは
"""
ENGLISH = frozenset(_ENGLISH.split()) | frozenset(_OTHER_SCRIPTS.split())


@cache
def stop_words(language: Language = "english") -> frozenset[str]:
    """Return the stop words of a language, and those of languages in scripts of their own."""
    if language == "english":
        return ENGLISH
    from bm25s import stopwords

    own_words = getattr(stopwords, f"STOPWORDS_{language.upper()}")
    return frozenset(own_words) | frozenset(_OTHER_SCRIPTS.split())
