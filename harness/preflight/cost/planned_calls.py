"""The remaining work of a run in counts, with its tokens (a guess, and at most), time and cost."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from statistics import fmean

from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.records import Answer
from harness.store.expenses import tokens_cost
from harness.store.run_file import Price

_TOKENS_PER_WORD, _TOKENS_PER_BYTE = 1.5, 0.25
"""Tokens of a model for each word or mark (English has some 1.2 to 1.4), or for each byte where
that is more, as in scripts without spaces."""
_WORD = re.compile(r"\w+|[^\w\s]")
"""A word between spaces, or a mark: models do not cut scripts without spaces at every word."""


@dataclass(frozen=True)
class TokenCount:
    """Tokens of a model: `about` so many, and no more than `most`, a token being a byte or more."""

    about: float = 0.0
    most: int = 0

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(self.about + other.about, self.most + other.most)

    def __mul__(self, times: int) -> TokenCount:
        return TokenCount(self.about * times, self.most * times)

    def maximum(self, other: TokenCount) -> TokenCount:
        """Return the larger of each figure."""
        return TokenCount(max(self.about, other.about), max(self.most, other.most))


def estimate(text: str) -> TokenCount:
    """Return the size of a text."""
    most = len(text.encode("utf-8", "replace"))
    about = max(_TOKENS_PER_WORD * len(_WORD.findall(text)), _TOKENS_PER_BYTE * most)
    return TokenCount(min(most, about), most)


@dataclass
class Embedding:
    """Texts that an embedder has still to embed: different ones, whose vectors are not kept.

    `model` names one that may cost money, which is sent `sent`; `is_slow` tells models from what
    embeds in no time.
    """

    embedder: str
    is_slow: bool = True
    model: str | None = None
    price: Price | None = None
    chunk_keys: set[int] = field(default_factory=set)
    question_keys: set[int] = field(default_factory=set)
    rewordings: dict[Hashable, int] = field(default_factory=dict)
    """How many texts will stand for each question, at most, that are not written yet."""
    unknown: bool = False
    """Whether there are chunks that were not looked at."""
    sent: TokenCount = TokenCount()

    @property
    def chunks(self) -> int | None:
        """How many chunks are left; None: not known yet."""
        return None if self.unknown else len(self.chunk_keys)

    @property
    def questions(self) -> int:
        """How many texts are left that stand for questions; at most, where some are reworded."""
        return len(self.question_keys) + sum(self.rewordings.values())

    @property
    def tokens(self) -> int:
        """How many tokens the model is expected to read."""
        return round(self.sent.about + 0.5)

    @property
    def money(self) -> float | None:
        """What it is expected to cost."""
        return tokens_cost(self.price, self.tokens, 0)

    @property
    def most_money(self) -> float | None:
        """What it costs at most."""
        return tokens_cost(self.price, self.sent.most, 0)


@dataclass(frozen=True)
class PlannedCalls:
    """Calls of one chat model for one purpose.

    `most` of them, exactly so many where `exact`; `likely` are expected. So are `tokens_in` and
    `tokens_out` in all, replies as long as they may be where none of the model is kept (`guessed`);
    `most_in` and `most_out` are the most, what is asked again for want of a verdict included.
    `seconds` None: nothing tells how long they take. `price` None: nobody said what the model
    costs.
    """

    purpose: str
    model: str
    likely: int
    most: int
    exact: bool
    tokens_in: int
    most_in: int
    tokens_out: int
    most_out: int
    guessed: bool
    seconds: float | None = None
    price: Price | None = None

    @property
    def money(self) -> float | None:
        """What the calls are expected to cost."""
        return tokens_cost(self.price, self.tokens_in, self.tokens_out)

    @property
    def most_money(self) -> float | None:
        """What the calls cost at most."""
        return tokens_cost(self.price, self.most_in, self.most_out)


@dataclass
class CallCount:
    """Counts the calls of one chat model for one purpose; each is made up to `tries` times."""

    purpose: str
    chat: ChatModel
    tries: int = 1
    prompts: dict[Hashable, TokenCount] = field(default_factory=dict)
    """The size of each prompt that is known, by its key."""
    replies: Sequence[Answer | ChatReply] = ()
    """Some that are kept: they tell how long others will be."""
    seconds: Sequence[float] = ()
    """How long some took that are kept."""
    _times: Counter[Hashable] = field(default_factory=Counter)
    _likely_more: int = 0
    _more: int = 0
    _longest: TokenCount = field(default_factory=TokenCount)

    def add(self, key: Hashable, prompt: str) -> None:
        """Count a prompt; one that is there several times is asked once, if it is answered."""
        if key not in self.prompts:
            self.prompts[key] = estimate(prompt)
        self._times[key] += 1

    def add_unknown(self, likely: int, most: int, longest: TokenCount) -> None:
        """Count prompts that are not known yet, none of them longer than `longest`."""
        self._likely_more += likely
        self._more += most
        self._longest = self._longest.maximum(longest)

    def planned(self, price: Price | None) -> PlannedCalls:
        """Return what is expected, by what is kept of earlier runs, and the most there can be."""
        usual_in = _mean(reply.tokens_in for reply in self.replies)
        usual_out = _mean(reply.tokens_out for reply in self.replies)
        seconds = _mean(self.seconds)
        likely = len(self.prompts) + self._likely_more
        tokens_in = sum(size.about for size in self.prompts.values())
        tokens_in += self._likely_more * (self._longest.about if usual_in is None else usual_in)
        # A reply that cannot be read is not kept, so that each cell asks for it again.
        times = dict.fromkeys(self.prompts, 1) if self.tries == 1 else self._times
        most_in = sum(size.most * times[key] for key, size in self.prompts.items())
        most_in = (most_in + self._longest.most * self._more) * self.tries
        most_calls = (sum(times.values()) + self._more) * self.tries
        return PlannedCalls(
            self.purpose,
            self.chat.shown,
            likely,
            len(self.prompts) + self._more,
            exact=not self._more,
            tokens_in=min(math.ceil(tokens_in), most_in),
            most_in=most_in,
            tokens_out=math.ceil(
                likely * (self.chat.max_tokens if usual_out is None else usual_out)
            ),
            most_out=most_calls * self.chat.max_tokens,
            guessed=usual_out is None,
            seconds=None if seconds is None else likely * seconds / self.chat.at_once,
            price=price,
        )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


@dataclass(frozen=True)
class Forecast:
    """What a run has still to do, after what is kept.

    `chunks` are those of each chunker; None: not known without a model, or the collection.
    `pairs` of question and chunk are to be reranked, exactly so many where `pairs_exact`.
    `system_questions` counts what each of the user's own systems has still to be asked, by name.
    `ranked` says whether all rankings are kept; `scoring` names metrics that run models of their
    own. `unlooked` says that what a model's files would have to tell was left out: the figures are
    then an upper bound.
    """

    documents: int
    chunks: Sequence[int | None]
    embeddings: Sequence[Embedding]
    pairs: int
    pairs_exact: bool
    calls: Sequence[PlannedCalls]
    system_questions: Sequence[tuple[str, int]]
    unlooked: bool
    currency: str | None
    ranked: bool = True
    scoring: Sequence[str] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is kept that takes a model or a system."""
        asked = any(count for _, count in self.system_questions)
        return not (self.embedding_left or self.pairs or self.asking or asked)

    @property
    def asking(self) -> list[PlannedCalls]:
        """Those calls that there are any of."""
        return [calls for calls in self.calls if calls.most]

    @property
    def embedding_left(self) -> list[Embedding]:
        """Those embeddings that there are texts for."""
        return [work for work in self.embeddings if work.questions or work.chunks != 0]

    @property
    def hosted(self) -> list[Embedding]:
        """Those embeddings left that may cost money."""
        return [work for work in self.embedding_left if work.model is not None]

    @property
    def unpriced(self) -> list[str]:
        """The models that will be asked and of which nobody said what they cost."""
        return list(dict.fromkeys(calls.model for calls in self.asking if calls.price is None))

    @property
    def unpriced_embedders(self) -> list[str]:
        """The embedding models of which nobody said what they cost."""
        models = (work.model for work in self.hosted if work.price is None)
        return list(dict.fromkeys(filter(None, models)))

    @property
    def money(self) -> float | None:
        """What all calls are expected to cost, and embedding by the models that have a price.

        None where the price of a model that is called is not known.
        """
        return _total(work.money for work in self._paid)

    @property
    def most_money(self) -> float | None:
        """What the same costs at most; None where a price is not known."""
        return _total(work.most_money for work in self._paid)

    @property
    def tokens(self) -> int:
        """How many tokens chat models are expected to take, sent and got."""
        return sum(calls.tokens_in + calls.tokens_out for calls in self.asking)

    @property
    def most_tokens(self) -> int:
        """How many they take at most."""
        return sum(calls.most_in + calls.most_out for calls in self.asking)

    @property
    def least_tokens(self) -> int:
        """How many they take in any case: one for each call that is sure to be made."""
        return sum(calls.most for calls in self.asking if calls.exact)

    @property
    def _paid(self) -> list[PlannedCalls | Embedding]:
        return [*self.asking, *(work for work in self.hosted if work.price is not None)]


def _total(values: Iterable[float | None]) -> float | None:
    amounts = list(values)
    known = [amount for amount in amounts if amount is not None]
    return fsum(known) if len(known) == len(amounts) else None
