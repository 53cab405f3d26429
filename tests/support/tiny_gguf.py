"""A language model of a few kilobytes: random weights, one letter a token, in a GGUF file."""

import struct
from pathlib import Path

import numpy as np

_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_WIDTH, _HIDDEN, _HEADS = 64, 64, 2
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CHAT = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


def write(path: Path, seed: int = 7, context: int = 4096) -> Path:
    """Write a model; another seed makes another one."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256)), *_LETTERS]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * len(_LETTERS)]
    settings = [
        _text("general.architecture", "llama"),
        _number("llama.context_length", context),
        _number("llama.embedding_length", _WIDTH),
        _number("llama.block_count", 1),
        _number("llama.feed_forward_length", _HIDDEN),
        _number("llama.attention.head_count", _HEADS),
        _entry("llama.attention.layer_norm_rms_epsilon", _FLOAT32, struct.pack("<f", 1e-5)),
        _text("tokenizer.ggml.model", "llama"),
        _list("tokenizer.ggml.tokens", _STRING, [_string(token) for token in tokens]),
        _list("tokenizer.ggml.scores", _FLOAT32, [struct.pack("<f", 0.0)] * len(tokens)),
        _list("tokenizer.ggml.token_type", _INT32, [struct.pack("<i", kind) for kind in kinds]),
        _number("tokenizer.ggml.bos_token_id", 1),
        _number("tokenizer.ggml.eos_token_id", 2),
        _text("tokenizer.chat_template", _CHAT),
    ]
    tensors = _weights(np.random.default_rng(seed), len(tokens))
    about, data = b"", b""
    for name, weight in tensors.items():
        shape = weight.shape[::-1]
        about += _string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        about += struct.pack("<IQ", 0, len(data))
        data += _padded(weight.tobytes())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(settings))
    path.write_bytes(_padded(head + b"".join(settings) + about) + data)
    return path


def _weights(rng: np.random.Generator, tokens: int) -> dict[str, np.ndarray]:
    def random(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    said = random(tokens, _WIDTH)
    said[: tokens - len(_LETTERS)] = 0  # so that letters alone are ever said
    square = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    return {
        "token_embd.weight": random(tokens, _WIDTH),
        "output_norm.weight": np.ones(_WIDTH, np.float32),
        "output.weight": said,
        "blk.0.attn_norm.weight": np.ones(_WIDTH, np.float32),
        "blk.0.ffn_norm.weight": np.ones(_WIDTH, np.float32),
        **{f"blk.0.{name}.weight": random(_WIDTH, _WIDTH) / 4 for name in square},
    }


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 32)


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _entry(name: str, kind: int, value: bytes) -> bytes:
    return _string(name) + struct.pack("<I", kind) + value


def _number(name: str, value: int) -> bytes:
    return _entry(name, _UINT32, struct.pack("<I", value))


def _text(name: str, value: str) -> bytes:
    return _entry(name, _STRING, _string(value))


def _list(name: str, kind: int, values: list[bytes]) -> bytes:
    return _entry(name, _ARRAY, struct.pack("<IQ", kind, len(values)) + b"".join(values))
