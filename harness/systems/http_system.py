"""HTTP: an endpoint that answers questions in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote, urlsplit

from annotated_types import Ge, Gt
from pydantic import BeforeValidator

from harness.errors import StageError
from harness.models import http
from harness.models.retries import DEFAULT_PATIENCE_SECONDS
from harness.systems import System, json_paths, systems
from harness.systems.json_paths import Paths
from harness.systems.reply import SystemReply
from harness.text import secrets, variables


def _to_json_text(value: Any, of_texts: bool = False) -> str:
    """Return a mapping as JSON text, which can be hashed; raise `ValueError` for a secret in it.

    `of_texts` is for headers, whose values are texts.
    """
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
        text = json.dumps(parsed, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("it must be a mapping of JSON values") from None
    if not isinstance(parsed, Mapping):
        raise ValueError("it must be a mapping")
    if of_texts and not all(isinstance(text_value, str) for text_value in parsed.values()):
        raise ValueError("each value must be a text")
    secrets.refuse_secrets(parsed, apart=of_texts)
    return text


_Given = Annotated[str, BeforeValidator(_to_json_text, json_schema_input_type=dict[str, Any])]
_Headers = Annotated[
    str,
    BeforeValidator(partial(_to_json_text, of_texts=True), json_schema_input_type=dict[str, str]),
]


@systems.register
@dataclass(frozen=True)
class Http(System):
    """An HTTP endpoint that is sent each question, and replies in JSON.

    `request` is sent as JSON, or with GET as the URL's query; `{question}` and `{id}` are put in
    wherever they stand in it, or in the URL. `response` holds the JSON path (RFC 9535) of each
    thing that the reply tells. `${NAME}` in a header or in the request is the environment variable
    of that name: secrets are given in no other way, and stored nowhere. `timeout`, in seconds, is
    for a whole request; after one that was too slow, a dropped connection, 429 and 5xx a question
    is asked again, up to `retries` times, and as long as that takes no more than `patience`
    seconds, in which the server may ask to wait (Retry-After). At most `concurrent` questions are
    asked at once. No redirect is followed. Every run asks again. Replies are cached only so that
    an interrupted run continues; `cache: false` caches none.
    """

    url: str
    response: Paths
    request: _Given = '{"question": "{question}"}'
    headers: _Headers = "{}"
    method: Literal["POST", "GET"] = "POST"
    timeout: Annotated[float, Gt(0)] = 60.0
    retries: Annotated[int, Ge(0)] = 3
    patience: Annotated[float, Gt(0)] = DEFAULT_PATIENCE_SECONDS
    concurrent: Annotated[int, Ge(1)] = 4
    cache: bool = True
    label: str | None = None

    name: ClassVar[str] = "http"
    version: ClassVar[int] = 1

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
        variables.check_variables(self.headers + self.request, f"system {self.shown}")

    def ask(self, id_: str, question: str) -> SystemReply:
        """Send a request, and read the reply."""
        places = {"{id}": id_, "{question}": question}
        in_url = {place: quote(value, safe="") for place, value in places.items()}
        # The question comes last: what looks like a variable in it is text.
        request = http.Request(
            self.method,
            _fill_places(self.url, in_url),
            _fill_places(variables.fill_variables(json.loads(self.request)), places),
            _fill_places(variables.fill_variables(json.loads(self.headers)), places),
        )
        try:
            body = http.send(request, self.timeout, self.retries, self.patience)
            return json_paths.read(body, self.response, secrets.redact)
        except StageError as error:
            raise StageError(f"{self.shown}: {error}") from None

    def identity(self) -> dict[str, Any]:
        """Return all that is sent and read: not the pace of asking, nor a variable's value."""
        shaping = {key: getattr(self, key) for key in ("url", "method", "request", "headers")}
        about = {"name": self.name, "version": self.version, **shaping}
        return {**about, "response": asdict(self.response)}


def _fill_places(value: Any, places: Mapping[str, str]) -> Any:
    """Return a JSON value with the places in its texts filled in; none in what is put in."""
    if isinstance(value, Mapping):
        return {key: _fill_places(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill_places(item, places) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub("|".join(map(re.escape, places)), lambda match: places[match[0]], value)


def _check_url(url: str) -> None:
    """Raise `ValueError` for a URL that is not asked, or that holds a secret."""
    parts = http.url_parts(url)
    if parts.username or parts.password:
        raise ValueError("url: it holds a user or a password: send a header, with ${NAME} in it")
    if secrets.variables_in(url):
        raise ValueError("url: no variable is put in there: name it by --set system.http.url=URL")
    secrets.refuse_secret_in_query(url, "url", "send a header, with ${NAME} in it")
