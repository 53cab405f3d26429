"""HTTP: an endpoint that answers questions in JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from annotated_types import Ge, Gt
from pydantic import BeforeValidator

from harness import endpoint, jsonreply, slots
from harness.arguments import is_secret, words_of
from harness.errors import HarnessError, StageError
from harness.jsonreply import Paths
from harness.retrying import PATIENCE, Tries
from harness.systems import systems
from harness.told import Told

_SENT_APART = re.compile(r"code|(.* )?(session(id)?|sig|signature)")
"""What is a secret in a header or a URL, and in a request most often is none.

`code` by itself is where some clouds take the key of a function.
"""
_LITERAL = re.compile(r"\s*(bearer|basic)\s+(?!\$\{)\S", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHORT = 6
"""Values of variables with fewer characters are no secrets that a reply could give away."""


def _kept_as_text(value: Any, of_texts: bool = False) -> str:
    """Return a mapping as JSON text, which can be hashed; raise `ValueError` for a secret in it.

    `of_texts` is for headers, whose values are texts.
    """
    try:
        found = json.loads(value) if isinstance(value, str) else value
        text = json.dumps(found, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("it must be a mapping of JSON values") from None
    if not isinstance(found, Mapping):
        raise ValueError("it must be a mapping")
    if of_texts and not all(isinstance(each, str) for each in found.values()):
        raise ValueError("each value must be a text")
    _refuse_secrets(found, "", of_texts)
    return text


def _refuse_secrets(value: Any, name: str, apart: bool) -> None:
    """Raise `ValueError`, without the value, for what stands in the place of a secret.

    `apart` says that it is in a header or a URL, and not in the request.
    """
    if isinstance(value, Mapping):
        for key, each in value.items():
            _refuse_secrets(each, name if is_secret(name) else str(key), apart)
    elif isinstance(value, list):
        for each in value:
            _refuse_secrets(each, name, apart)
    elif isinstance(value, str):
        words = " ".join(words_of(name))
        named = is_secret(name, value) or (apart and _SENT_APART.fullmatch(words))
        if (named and not _VARIABLE.search(value)) or _LITERAL.match(value):
            variable = re.sub(r"\W+", "_", name).upper() or "TOKEN"
            raise ValueError(
                f"{name!r} is a secret, and no file holds one: put it in the environment, "
                f"and write ${{{variable}}} here"
            )


_Given = Annotated[str, BeforeValidator(_kept_as_text, json_schema_input_type=dict[str, Any])]
_Headers = Annotated[
    str,
    BeforeValidator(partial(_kept_as_text, of_texts=True), json_schema_input_type=dict[str, str]),
]


@systems.register
@dataclass(frozen=True)
class Http:
    """An HTTP endpoint that is sent each question, and replies in JSON.

    `request` is sent as JSON, or with GET as the URL's query; `{question}` and `{id}` are put in
    wherever they stand in it, or in the URL. `response` holds the JSON path (RFC 9535) of each
    thing that the reply tells. `${NAME}` in a header or in the request is the environment variable
    of that name: secrets are given in no other way, and stored nowhere. `timeout`, in seconds, is
    for a whole request; after one that was too slow, a dropped connection, 429 and 5xx a question
    is asked again, up to `retries` times, and as long as that takes no more than `patience`
    seconds, in which the server may ask to wait (Retry-After). At most `concurrent` questions are
    asked at once, and fewer while the server is too busy. No redirect is followed. Replies are
    kept, by the question and by all that is sent and read: what else changes at the endpoint cannot
    be seen, so then run with --fresh, or set `cache: false`.
    """

    url: str
    response: Paths
    request: _Given = '{"question": "{question}"}'
    headers: _Headers = "{}"
    method: Literal["POST", "GET"] = "POST"
    timeout: Annotated[float, Gt(0)] = 60.0
    retries: Annotated[int, Ge(0)] = 3
    patience: Annotated[float, Gt(0)] = PATIENCE
    concurrent: Annotated[int, Ge(1)] = 4
    cache: bool = True
    label: str | None = None

    name: ClassVar[str] = "http"
    version: ClassVar[int] = 1
    files: ClassVar[tuple[str, ...]] = ()
    imported: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_url(self.url)
        if "{question}" not in self.url + self.request and "{id}" not in self.url + self.request:
            raise ValueError("request: the place {question} is nowhere in it, nor in the url")

    @property
    def shown(self) -> str:
        """What reports call it."""
        url = urlsplit(self.url)
        return self.label or f"http({url.netloc}{url.path})"

    @property
    def tells_answers(self) -> bool:
        """Whether a reply holds an answer."""
        return self.response.answer is not None

    @property
    def tells_contexts(self) -> bool:
        """Whether a reply holds contexts."""
        return self.response.ranked

    def check(self) -> None:
        """Look up the environment variables that requests hold."""
        for name, value in self._variables().items():
            if not value:
                raise HarnessError(
                    f"system {self.shown}: the environment variable {name} is not set\n"
                    f"  run it as: {name}=... python -m harness ..."
                )
            if not (value.isascii() and value.isprintable()):
                raise HarnessError(
                    f"system {self.shown}: the environment variable {name} holds characters that "
                    "no header takes\n  a line feed at its end, perhaps"
                )

    def ask(self, id_: str, question: str) -> Told:
        """Send a request, and read the reply."""
        variables = self._variables()

        def filled(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: filled(each) for key, each in value.items()}
            if isinstance(value, list):
                return [filled(each) for each in value]
            if not isinstance(value, str):
                return value
            # The question comes last: what looks like a place in it is text.
            value = _VARIABLE.sub(lambda found: variables[found[1]], value)
            return _put(value, {"{id}": id_, "{question}": question})

        request = endpoint.Request(
            self.method,
            _put(self.url, {"{id}": quote(id_, safe=""), "{question}": quote(question, safe="")}),
            filled(json.loads(self.request)),
            {name: filled(value) for name, value in json.loads(self.headers).items()},
        )
        shared = slots.of(urlsplit(self.url).netloc)
        tries = Tries(self.retries, self.patience, shared, self.concurrent)
        try:
            body = endpoint.send(request, self.timeout, tries)
            return jsonreply.read(body, self.response, partial(_hidden, variables=variables))
        except StageError as error:
            raise StageError(f"{self.shown}: {_hidden(str(error), variables)}") from None

    def identity(self) -> dict[str, Any]:
        """Return all that is sent and read: not the pace of asking, nor a variable's value."""
        shaping = {key: getattr(self, key) for key in ("url", "method", "request", "headers")}
        about = {"name": self.name, "version": self.version, **shaping}
        return {**about, "response": asdict(self.response)}

    def _variables(self) -> dict[str, str]:
        names = _VARIABLE.findall(self.headers + self.request)
        return {name: os.environ.get(name, "") for name in names}


def _put(text: str, places: Mapping[str, str]) -> str:
    """Return `text` with its places filled in; what is put in is not looked at again."""
    return re.sub("|".join(map(re.escape, places)), lambda found: places[found[0]], text)


def _check_url(url: str) -> None:
    """Raise `ValueError` for a URL that is not asked, or that holds a secret."""
    parts = endpoint.url_parts(url)
    if parts.username or parts.password:
        raise ValueError("url: it holds a user or a password: send a header, with ${NAME} in it")
    if _VARIABLE.search(url):
        raise ValueError("url: no variable is put in there: name it by --set system.http.url=URL")
    for name, value in parse_qsl(parts.query):
        _refuse_secrets(value, name, apart=True)


def _hidden(text: str, variables: Mapping[str, str]) -> str:
    """Return `text` without the values of variables: a server may send back what it was sent."""
    for name, value in variables.items():
        if len(value) >= _SHORT:
            text = text.replace(value, f"${{{name}}}")
    return text
