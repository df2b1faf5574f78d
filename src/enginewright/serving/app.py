"""The routes of the server, and what each makes of a request."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from enginewright.errors import InputError
from enginewright.serving import generation_answers, vector_answers
from enginewright.serving.admission import Admission
from enginewright.serving.answering import collect, stream, while_there
from enginewright.serving.api_error import ApiError
from enginewright.serving.ask import Ask, Chat, Embed, Embedded, Started
from enginewright.serving.body import read_body
from enginewright.serving.engines import BusyError, Engines
from enginewright.serving.event_stream import event_stream
from enginewright.serving.keys import Keys
from enginewright.serving.metrics import Metrics
from enginewright.serving.requests import (
    SEEDS,
    ChatRequest,
    CompletionRequest,
    EmbeddingRequest,
    RerankRequest,
    SwapRequest,
    listed,
)
from enginewright.serving.settings import ServerSettings

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
_PATHS = {
    "Generate": "/v1/completions",
    "Chat": "/v1/chat/completions",
    "Embed": "/v1/embeddings and /v1/rerank",
}


@dataclass(frozen=True)
class Api:
    settings: ServerSettings
    engines: Engines
    metrics: Metrics
    admission: Admission
    name: str
    """Of the model, as clients say it."""
    keys: Keys | None
    admin_keys: Keys | None

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                self._route("/v1/completions", self.completions, "POST", self.keys),
                self._route("/v1/chat/completions", self.chat, "POST", self.keys),
                self._route("/v1/embeddings", self.embeddings, "POST", self.keys),
                self._route("/v1/rerank", self.rerank, "POST", self.keys),
                self._route("/v1/models", self.models, "GET", self.keys),
                self._route("/admin/swap", self.swap, "POST", self.admin_keys, True),
                self._route("/admin/rollback", self.roll_back, "POST", self.admin_keys, True),
                self._route("/health", self.health, "GET", None),
                self._route("/metrics", self.measure, "GET", None),
            ]
        )

    def _route(
        self, path: str, handler: Handler, method: str, keys: Keys | None, is_admin: bool = False
    ) -> Route:
        async def guarded(request: Request) -> Response:
            try:
                if is_admin and keys is None:
                    raise ApiError(403, "the server was started without --admin-keys")
                if keys is not None and not keys.has(request.headers.get("authorization", "")):
                    raise ApiError(401, "no such key", headers={"WWW-Authenticate": "Bearer"})
                return await handler(request)
            except ApiError as error:
                if error.status == 499:
                    self.metrics.gone.inc()
                self.metrics.refused.labels(str(error.status)).inc()
                return JSONResponse(error.document, error.status, error.headers)

        return Route(path, guarded, methods=[method])

    async def completions(self, request: Request) -> Response:
        body = await self._body(request, CompletionRequest)
        prompts = listed(body.prompt)
        seed = secrets.randbelow(SEEDS)
        asks = tuple(body.generate(prompt, seed) for prompt in prompts)
        return await self._generate(request, body, asks, is_chat=False)

    async def chat(self, request: Request) -> Response:
        body = await self._body(request, ChatRequest)
        after = body.generate("", secrets.randbelow(SEEDS))
        most = body.max_completion_tokens or body.max_tokens
        ask = Chat(body.messages, replace(after, max_tokens=most))
        return await self._generate(request, body, (ask,), is_chat=True)

    async def _generate(
        self,
        request: Request,
        body: CompletionRequest | ChatRequest,
        asks: tuple[Ask, ...],
        *,
        is_chat: bool,
    ) -> Response:
        self._check(body.model, asks)
        form = generation_answers.Form(self.name, is_chat, body.return_token_ids)
        seconds = self.settings.limits.seconds
        with contextlib.ExitStack() as scope:
            scope.enter_context(self.admission.enter(len(asks)))
            if not body.stream:
                every = asyncio.gather(*(collect(self.engines, self.metrics, ask) for ask in asks))
                answers = await while_there(request, every, seconds)
                return JSONResponse(generation_answers.whole(form, answers))
            streams = [stream(self.engines, self.metrics, ask) for ask in asks]
            with_usage = body.stream_options is not None and body.stream_options.include_usage
            documents = generation_answers.pieces(form, streams, with_usage)
            return event_stream(documents, scope.pop_all(), seconds, self.metrics)

    async def embeddings(self, request: Request) -> Response:
        body = await self._body(request, EmbeddingRequest)
        vectors, tokens = await self._embed(request, body.model, Embed(listed(body.input)))
        return JSONResponse(
            vector_answers.embeddings(self.name, vectors, tokens, body.encoding_format)
        )

    async def rerank(self, request: Request) -> Response:
        body = await self._body(request, RerankRequest)
        ask = Embed((body.query, *body.documents))
        vectors, tokens = await self._embed(request, body.model, ask)
        texts = body.documents if body.return_documents else None
        return JSONResponse(vector_answers.ranking(self.name, vectors, tokens, texts, body.top_n))

    async def _embed(
        self, request: Request, model: str, ask: Embed
    ) -> tuple[vector_answers.Vectors, int]:
        self._check(model, (ask,))
        if len(ask.texts) > self.settings.limits.texts:
            message = f"at most {self.settings.limits.texts} texts in a request, not "
            raise ApiError(400, message + str(len(ask.texts)))
        with self.admission.enter(1):
            work = collect(self.engines, self.metrics, ask)
            answers = await while_there(request, work, self.settings.limits.seconds)
        tokens = sum(item.prompt_tokens for item in answers if isinstance(item, Started))
        return next(item.vectors for item in answers if isinstance(item, Embedded)), tokens

    async def models(self, request: Request) -> Response:
        del request
        facts = self.engines.facts
        model = {
            "id": self.name,
            "object": "model",
            "owned_by": "enginewright",
            "max_model_len": facts.total_sequence,
            "engine": {"name": facts.name, "task": facts.task, "sha256": facts.digest},
        }
        return JSONResponse({"object": "list", "data": [model]})

    async def swap(self, request: Request) -> Response:
        body = await self._body(request, SwapRequest)
        return await self._change(self.engines.swap(Path(body.folder)))

    async def roll_back(self, request: Request) -> Response:
        del request
        return await self._change(self.engines.roll_back())

    async def _change(self, change: Awaitable[Any]) -> Response:
        result = "refused"
        try:
            # Shielded: a caller that hangs up must not leave half a swap.
            facts = await asyncio.shield(asyncio.ensure_future(change))
            result = "done"
        except BusyError:
            raise ApiError(409, "another engine is being loaded: wait for it") from None
        except InputError as error:
            raise ApiError.of(error, 422) from None
        finally:
            self.metrics.swaps.labels(result).inc()
        previous = self.engines.previous
        return JSONResponse(
            {"serving": asdict(facts), "previous": asdict(previous) if previous else None}
        )

    async def health(self, request: Request) -> Response:
        """200 where requests are taken and an engine computes them."""
        del request
        is_well = self.engines.is_ready and not self.admission.is_closed
        return Response(status_code=200 if is_well else 503)

    async def measure(self, request: Request) -> Response:
        del request
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def _body(self, request: Request, kind: type[T]) -> T:
        return await read_body(request, kind, self.settings.limits)

    def _check(self, model: str, asks: tuple[Ask, ...]) -> None:
        """Raises `ApiError` for another model, and for what the engine's task does not do."""
        if model != self.name:
            raise ApiError(404, f"the model here is {self.name!r}, not {model[:80]!r}")
        facts = self.engines.facts
        wanted = asks[0].__class__.__name__
        if wanted not in facts.asks:
            able = ", ".join(_PATHS[name] for name in facts.asks)
            lacks = " and has no chat template" if wanted == "Chat" else ""
            raise ApiError(400, f"the engine's task is {facts.task}{lacks}: ask {able}")
