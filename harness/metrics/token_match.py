"""Computes BERTScore for pairs of texts, bit for bit the same whatever else is scored.

Not by `bert_score.score`: `make bench` holds this to 0.7 of that function's time, and there the
values of a pair depend on the others in its batch.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

from harness.errors import MissingExtra, ModelError
from harness.files.batches import batched
from harness.metrics.references import AnswerPair
from harness.models import runtime
from harness.models.model_files import hide_progress_bars, locate
from harness.models.runtime import processor
from harness.models.runtime.processor import Device

T = TypeVar("T")
PrecisionRecallF1 = tuple[float, float, float]
_Embedding = tuple[Any, Any, Any]
"""Of one text: its vectors (tokens × width), mask and weights (one a token), all tensors."""

_TOKENS_PER_BATCH: dict[Device, int] = {"cpu": 64, "cuda": 65_536}
"""Tokens per model batch: as many texts of one length as fit, or one longer text."""

_PAIRS_PER_BATCH = 256
_MAX_TOKENS_CACHED = 50_000


class LruCache(Generic[T]):
    """Values by text, least recently used dropped first once their sizes exceed `max_size`."""

    def __init__(self, max_size: int, size: Callable[[T], int]) -> None:
        self._max_size, self._size = max_size, size
        self._total_size = 0
        self._values: OrderedDict[str, T] = OrderedDict()

    def get_all(
        self, keys: Sequence[str], make: Callable[[list[str]], Iterable[T]]
    ) -> dict[str, T]:
        """Return the values of `keys`, those that are not there made by one call to `make`."""
        new = [key for key in dict.fromkeys(keys) if key not in self._values]
        # Held here too, for this call must have them all, however many it asks for.
        values = {key: self._values[key] for key in keys if key in self._values}
        values.update(zip(new, make(new), strict=True) if new else ())
        for key in dict.fromkeys(keys):
            if key not in self._values:
                self._total_size += self._size(values[key])
                self._values[key] = values[key]
            self._values.move_to_end(key)
        while self._total_size > self._max_size:
            self._total_size -= self._size(self._values.popitem(last=False)[1])
        return values


class TokenMatcher:
    """One model's embeddings of texts, and the values of pairs of them, by bert-score's own code.

    The last bits of an embedding depend on the shape of the batch that it is made in, and in a
    padded match padding even stands in for a token whose best match is negative. A text is
    therefore embedded in a shape that its own length sets, without padding, and a pair is matched
    alone: its values are the same in any company. A graphics card gets as many texts of one length
    as there are, up to its budget of tokens, and the last digits differ.
    """

    def __init__(self, model: Any, tokenizer: Any, device: Device = "cpu") -> None:
        self._model, self._tokenizer, self._device = model, tokenizer, device
        self._weights = defaultdict(lambda: 1.0)
        self._weights[tokenizer.sep_token_id] = self._weights[tokenizer.cls_token_id] = 0.0
        self._embeddings: LruCache[_Embedding] = LruCache(
            _MAX_TOKENS_CACHED, lambda embedding: len(embedding[0])
        )

    def compare(self, pairs: Sequence[AnswerPair]) -> list[PrecisionRecallF1]:
        """Return precision, recall and F of each pair, each the best over its references."""
        scores = []
        for batch in batched(pairs, _PAIRS_PER_BATCH):
            texts = [text for answer, refs in batch for text in (answer, *refs)]
            embeddings = self._embeddings.get_all(texts, self._embed)
            for answer, refs in batch:
                rows = [_match(embeddings[answer], embeddings[text]) for text in refs]
                precision, recall, f1 = (max(column) for column in zip(*rows, strict=True))
                scores.append((precision, recall, f1))
        return scores

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it has more tokens than the model reads, marks included."""
        window = self._tokenizer.model_max_length
        # A token stands for a byte or more, so most texts need not be cut into tokens once again.
        return [
            len(text.encode()) + 2 > window
            and len(self._tokenizer.encode(text, truncation=False, verbose=False)) > window
            for text in texts
        ]

    def _embed(self, texts: list[str]) -> list[_Embedding]:
        from bert_score.utils import get_bert_embedding, sent_encode

        by_length = defaultdict(list)
        for text in texts:
            by_length[len(sent_encode(self._tokenizer, text))].append(text)
        embeddings = {}
        for length, group in by_length.items():
            rows = max(1, _TOKENS_PER_BATCH[self._device] // length)
            for batch in batched(group, rows):
                spare = rows - len(batch) if self._device == "cpu" else 0
                vectors, masks, weights = get_bert_embedding(
                    [*batch, *[batch[-1]] * spare],
                    self._model,
                    self._tokenizer,
                    self._weights,
                    device=self._device,
                )
                # Copies, as a part of a batch would keep the whole of it in memory.
                for text, vector, mask, weight in zip(batch, vectors, masks, weights, strict=False):
                    embeddings[text] = (
                        vector.float().cpu().clone(),
                        mask.cpu().clone(),
                        weight.float().cpu().clone(),
                    )
        return [embeddings[text] for text in texts]


def _match(answer: _Embedding, reference: _Embedding) -> PrecisionRecallF1:
    from bert_score.utils import greedy_cos_idf

    # Copies, as bert-score brings what it is given to length 1 in place.
    reference_parts, answer_parts = (
        [part[None].clone() for part in parts] for parts in (reference, answer)
    )
    precision, recall, f1 = (
        float(value) for value in greedy_cos_idf(*reference_parts, *answer_parts)
    )
    return precision, recall, f1


@lru_cache(maxsize=2)
def load_matcher(model: str, layer: int) -> TokenMatcher:
    """Return the matcher for `model`, read up to `layer`; the last two are kept.

    Raises:
        MissingExtra: bert-score is not installed.
        ModelError: there is no such model, or it has no such layer.
    """
    try:
        from bert_score.utils import get_model, get_tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtra("metric 'bertscore'", str(error.name), "offline") from None
    hide_progress_bars()
    device = processor.device()
    try:
        folder = str(locate(model))
        encoder, tokenizer = get_model(folder, layer), get_tokenizer(folder, True)
    except (OSError, ValueError, AssertionError) as error:
        raise ModelError(f"model {model!r} cannot be used for BERTScore: {error}") from None
    if device == "cpu":
        return TokenMatcher(runtime.faster_encoder(encoder), tokenizer)
    if processor.default_precision() == "bfloat16":
        encoder = encoder.bfloat16()
    return TokenMatcher(encoder.to(device), tokenizer, device)
