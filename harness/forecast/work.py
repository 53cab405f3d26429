"""What a run has still to do, in counts, and what that takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from harness.prices import money
from harness.stored import PriceLine


@dataclass(frozen=True)
class Cut:
    """The chunks of one chunker; None: how many is not known without a model, or the collection."""

    chunker: str
    chunks: int | None
    exact: bool = True


@dataclass(frozen=True)
class Embedding:
    """Texts that an embedder has still to embed: different ones, whose vectors are not kept.

    `chunks` None: not known yet. `questions` counts all that stands for questions, and is an upper
    bound unless `exact`. `seconds` None: nothing tells how long it takes. `model` is the name of
    one that may cost money, which is sent about so many `tokens`, and at `most`.
    """

    embedder: str
    chunks: int | None
    questions: int
    exact: bool
    seconds: float | None = None
    model: str | None = None
    tokens: int = 0
    most: int = 0
    price: PriceLine | None = None

    @property
    def texts(self) -> int:
        """How many texts are known to be left."""
        return (self.chunks or 0) + self.questions

    @property
    def money(self) -> float | None:
        """What it is expected to cost."""
        return money(self.price, self.tokens, 0)

    @property
    def most_money(self) -> float | None:
        """What it costs at most."""
        return money(self.price, self.most, 0)


@dataclass(frozen=True)
class Calls:
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
    price: PriceLine | None = None

    @property
    def money(self) -> float | None:
        """What the calls are expected to cost."""
        return money(self.price, self.tokens_in, self.tokens_out)

    @property
    def most_money(self) -> float | None:
        """What the calls cost at most."""
        return money(self.price, self.most_in, self.most_out)


@dataclass(frozen=True)
class Forecast:
    """What a run has still to do, after what is kept.

    `pairs` of question and chunk are to be reranked, exactly so many where `pairs_exact`. `told`
    holds the questions that systems of the user's own have still to be asked, by the system's name.
    `ranked` says whether all rankings are kept; `scoring` names metrics that run models of their
    own. `unlooked` says that what a model's files would have to tell was left out: the figures are
    then an upper bound.
    """

    documents: int
    cuts: Sequence[Cut]
    embeddings: Sequence[Embedding]
    pairs: int
    pairs_exact: bool
    calls: Sequence[Calls]
    told: Sequence[tuple[str, int]]
    unlooked: bool
    currency: str | None
    ranked: bool = True
    scoring: Sequence[str] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is kept that takes a model or a system."""
        texts = sum(each.texts for each in self.embeddings)
        unknown = any(each.chunks is None for each in self.embeddings)
        asked = sum(each.most for each in self.calls) + sum(count for _, count in self.told)
        return not (texts or unknown or self.pairs or asked)

    @property
    def asking(self) -> list[Calls]:
        """Those calls that there are any of."""
        return [each for each in self.calls if each.most]

    @property
    def hosted(self) -> list[Embedding]:
        """Those embeddings left that may cost money."""
        left = [each for each in self.embeddings if each.texts or each.chunks is None]
        return [each for each in left if each.model is not None]

    @property
    def unpriced(self) -> list[str]:
        """The models that will be asked and of which nobody said what they cost."""
        return list(dict.fromkeys(each.model for each in self.asking if each.price is None))

    @property
    def unpriced_embedders(self) -> list[str]:
        """The embedding models of which nobody said what they cost."""
        named = (each.model for each in self.hosted if each.price is None)
        return list(dict.fromkeys(filter(None, named)))

    @property
    def money(self) -> float | None:
        """What all calls are expected to cost, and embedding by the models that have a price.

        None where the price of a model that is called is not known.
        """
        return total(each.money for each in self._paid)

    @property
    def most_money(self) -> float | None:
        """What the same costs at most; None where a price is not known."""
        return total(each.most_money for each in self._paid)

    @property
    def tokens(self) -> int:
        """How many tokens chat models are expected to take, sent and got."""
        return sum(each.tokens_in + each.tokens_out for each in self.asking)

    @property
    def most_tokens(self) -> int:
        """How many they take at most."""
        return sum(each.most_in + each.most_out for each in self.asking)

    @property
    def least_tokens(self) -> int:
        """How many they take in any case: one for each call that is sure to be made."""
        return sum(each.most for each in self.asking if each.exact)

    @property
    def _paid(self) -> list[Calls | Embedding]:
        return [*self.asking, *(each for each in self.hosted if each.price is not None)]


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum of values; None where one is not known."""
    found = list(values)
    known = [each for each in found if each is not None]
    return fsum(known) if len(known) == len(found) else None
