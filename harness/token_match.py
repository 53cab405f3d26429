"""The values of bert-score, the same bits for a pair of texts whatever else is scored."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from harness import runtime
from harness.batches import batched
from harness.errors import MissingExtra, ModelError
from harness.models import hush, locate
from harness.runtime import processor, words
from harness.runtime.card import Card

T = TypeVar("T")
Triple = tuple[float, float, float]
Pair = tuple[str, tuple[str, ...]]
_Embedding = tuple[Any, Any, Any]
"""Of one text: its vectors (tokens × width), mask and weights (one a token), all tensors."""

_SHAPE = 64
"""Tokens that the model is given at once: as many texts of one length as fit, or one longer."""

_BATCH = 256
_TOKENS_KEPT = 50_000


class Recent(Generic[T]):
    """Values by text, the longest unused dropped once their sizes add up to more than `room`."""

    def __init__(self, room: int, size: Callable[[T], int]) -> None:
        self._room, self._size = room, size
        self._taken = 0
        self._values: OrderedDict[str, T] = OrderedDict()

    def all(self, keys: Sequence[str], make: Callable[[list[str]], Iterable[T]]) -> dict[str, T]:
        """Return the values of `keys`, those that are not there made by one call to `make`."""
        new = [key for key in dict.fromkeys(keys) if key not in self._values]
        # Held here too, for this call must have them all, however many it asks for.
        found = {key: self._values[key] for key in keys if key in self._values}
        found.update(zip(new, make(new), strict=True) if new else ())
        for key in dict.fromkeys(keys):
            if key not in self._values:
                self._taken += self._size(found[key])
                self._values[key] = found[key]
            self._values.move_to_end(key)
        while self._taken > self._room:
            self._taken -= self._size(self._values.popitem(last=False)[1])
        return found


class Matcher:
    """One model's embeddings of texts, and the values of pairs of them, by bert-score's own code.

    The last bits of an embedding depend on the shape of the batch that it is made in, and in a
    padded match padding even stands in for a token whose best match is negative. A text is
    therefore embedded in a shape that its own length sets, without padding, and a pair is matched
    alone: its values are the same in any company. On a graphics card, `card`, texts are padded to
    the longest beside them, and the last digits differ.
    """

    def __init__(self, model: Any, tokenizer: Any, card: Card | None = None) -> None:
        self._model, self._tokenizer, self._card = model, tokenizer, card
        self._weights = defaultdict(lambda: 1.0)
        self._weights[tokenizer.sep_token_id] = self._weights[tokenizer.cls_token_id] = 0.0
        self._embedded: Recent[_Embedding] = Recent(_TOKENS_KEPT, lambda each: len(each[0]))

    def compare(self, pairs: Sequence[Pair]) -> list[Triple]:
        """Return precision, recall and F of each pair, each the best over its references."""
        found = []
        for some in batched(pairs, _BATCH):
            texts = [text for answer, refs in some for text in (answer, *refs)]
            known = self._embedded.all(texts, self._embed)
            for answer, refs in some:
                rows = [_matched(known[answer], known[text]) for text in refs]
                precision, recall, f1 = (max(column) for column in zip(*rows, strict=True))
                found.append((precision, recall, f1))
        return found

    def _embed(self, texts: list[str]) -> list[_Embedding]:
        if self._card is not None:
            return self._embed_on(self._card, texts)
        from bert_score.utils import get_bert_embedding, sent_encode

        alike = defaultdict(list)
        for text in texts:
            alike[len(sent_encode(self._tokenizer, text))].append(text)
        found = {}
        for length, group in alike.items():
            rows = max(1, _SHAPE // length)
            for some in batched(group, rows):
                filled = [*some, *[some[-1]] * (rows - len(some))]
                vectors, masks, weights = get_bert_embedding(
                    filled, self._model, self._tokenizer, self._weights, device="cpu"
                )
                # Copies, as a part of a batch would keep the whole of it in memory.
                for row in zip(some, vectors, masks, weights, strict=False):
                    found[row[0]] = (row[1].clone(), row[2].clone(), row[3].clone())
        return [found[text] for text in texts]

    def _embed_on(self, card: Card, texts: list[str]) -> list[_Embedding]:
        from bert_score.utils import sent_encode

        tokenizer = self._tokenizer
        encode = partial(sent_encode, tokenizer)
        found: dict[int, _Embedding] = {}
        rows = words.embedded(self._model, card, texts, encode, tokenizer.pad_token_id)
        for number, ids, vectors in rows:
            weights = vectors.new_tensor([self._weights[each] for each in ids])
            found[number] = (vectors, vectors.new_ones(len(ids)).long(), weights)
        return [found[number] for number in range(len(texts))]


def _matched(answer: _Embedding, reference: _Embedding) -> Triple:
    from bert_score.utils import greedy_cos_idf

    # Copies, as bert-score brings what it is given to length 1 in place.
    wanted, said = ([part[None].clone() for part in each] for each in (reference, answer))
    precision, recall, f1 = (float(value) for value in greedy_cos_idf(*wanted, *said))
    return precision, recall, f1


@lru_cache(maxsize=2)
def matcher(model: str, layer: int) -> Matcher:
    """Return the matcher for `model`, read up to `layer`; the last two are kept.

    Raises:
        MissingExtra: bert-score is not installed.
        ModelError: there is no such model, or it has no such layer.
    """
    try:
        from bert_score.utils import get_model, get_tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtra("metric 'bertscore'", str(error.name), "offline") from None
    hush()
    device = processor.device()
    try:
        folder = str(locate(model))
        encoder, tokenizer = get_model(folder, layer), get_tokenizer(folder, True)
        if device == "cpu":
            return Matcher(runtime.encoder(encoder), tokenizer)
    except (OSError, ValueError, AssertionError) as error:
        raise ModelError(f"model {model!r} cannot be used for BERTScore: {error}") from None
    return Matcher(words.moved(encoder, device, processor.numbers()), tokenizer, Card(device))
