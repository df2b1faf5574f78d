"""What the server counts, for Prometheus.

A metric has vLLM's name (https://docs.vllm.ai, Production Metrics) where it means the same, and one
with `enginewright:` otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from enginewright.serving.ask import Answer, Embedded, Ended, Piece, Refused, Started

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
TOKEN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.running = self._gauge("vllm:num_requests_running", "Requests that are computed.")
        self.waiting = self._gauge("vllm:num_requests_waiting", "Requests that wait for a place.")
        self.prompt_tokens = self._counter("vllm:prompt_tokens", "Tokens read.")
        self.generated = self._counter("vllm:generation_tokens", "Tokens generated.")
        self.finished = self._counter(
            "vllm:request_success", "Requests answered.", ("finished_reason",)
        )
        self.first = self._histogram("vllm:time_to_first_token_seconds", "Until the first token.")
        self.queued = self._histogram("vllm:request_queue_time_seconds", "Until it was begun.")
        self.whole = self._histogram("vllm:e2e_request_latency_seconds", "Until the answer's end.")
        self.between = self._histogram(
            "vllm:inter_token_latency_seconds", "From a token to the next.", TOKEN_SECONDS
        )
        self.refused = self._counter(
            "enginewright:requests_refused", "Requests that were told no.", ("status",)
        )
        self.gone = self._counter("enginewright:clients_gone", "Clients that hung up.")
        self.restarts = self._counter("enginewright:worker_restarts", "Workers that were replaced.")
        self.swaps = self._counter("enginewright:swaps", "Changes of the engine.", ("result",))

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self._registry)

    def _counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(name, text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float] = SECONDS) -> Histogram:
        return Histogram(name, text, registry=self._registry, buckets=buckets)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class Meter:
    """Counts one ask: made when it was accepted, told each answer, closed at the end."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._begin = time.monotonic()
        self._last: float | None = None
        self._started = False
        metrics.waiting.inc()

    def see(self, answer: Answer) -> None:
        now, metrics = time.monotonic(), self._metrics
        if isinstance(answer, Started) and not self._started:
            self._started = True
            metrics.waiting.dec()
            metrics.running.inc()
            metrics.queued.observe(now - self._begin)
            metrics.prompt_tokens.inc(answer.prompt_tokens)
        elif isinstance(answer, Piece):
            if self._last is None:
                metrics.first.observe(now - self._begin)
            else:
                metrics.between.observe(now - self._last)
            self._last = now
            metrics.generated.inc(len(answer.tokens))
        elif isinstance(answer, Ended | Embedded):
            reason = answer.reason if isinstance(answer, Ended) else "stop"
            metrics.finished.labels(reason).inc()
            metrics.whole.observe(now - self._begin)
        elif isinstance(answer, Refused):
            pass  # Counted with its status.

    def close(self) -> None:
        (self._metrics.running if self._started else self._metrics.waiting).dec()
