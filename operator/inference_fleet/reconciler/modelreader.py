"""Ask the model store in the background, and keep its answers.

A reconcile never waits for a store: it takes the last answer, or says that it wants one and is woken when it is there.
So a store that hangs delays only the services that use it. Services of one namespace with the same model and store
share one question; across namespaces nothing is shared, because credentials differ.

The bytes under an address may change. Whoever meets an answer for the first time gets none that is older than a few
seconds, or it would pin bytes that are gone; whoever knows its digest already keeps it until there is a newer one.
"""

import asyncio
import contextlib
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from inference_fleet.api.v1alpha1.spec import Model
from inference_fleet.reconciler.fleet import model_source
from inference_fleet.reconciler.observed import ServiceKey
from inference_fleet.reconciler.outcome import ModelRead, ModelUnreadable, StoredModel

Read = Callable[[str, Model], Awaitable[StoredModel | ModelUnreadable]]
Wake = Callable[[ServiceKey, float], None]

_AT_ONCE = 8
_AT_ONCE_PER_NAMESPACE = 4
"""Half of all: stores that hang, however many services name them, leave room for other namespaces."""
_KEPT = 1024
_NEW_SECONDS = 10.0
_REFRESH_SECONDS = 60.0
_VALID_SECONDS = 180.0
_FIRST_RETRY_SECONDS = 5.0
_LAST_RETRY_SECONDS = 60.0


@dataclass(slots=True)
class _Question:
    answer: ModelRead = None
    answered_at: float = 0.0
    failures: int = 0
    ask_again_at: float = 0.0
    waiting: set[ServiceKey] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class ModelReader:
    """Answers by (namespace, model source)."""

    def __init__(self, read: Read) -> None:
        """Ask with `read`, at most eight questions at once."""
        self._read = read
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._slots_of: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._questions: OrderedDict[tuple[str, str], _Question] = OrderedDict()

    def answer(self, namespace: str, model: Model, known_digest: str | None = None) -> ModelRead:
        """The last answer for a model; None where there is none yet, or none that is new enough to be believed."""
        question = self._questions.get((namespace, model_source(model)))
        if question is None or not isinstance(question.answer, StoredModel):
            return question.answer if question else None
        valid = _VALID_SECONDS if question.answer.digest == known_digest else _NEW_SECONDS
        return question.answer if _now() < question.answered_at + valid else None

    def ask(self, key: ServiceKey, model: Model, wake: Wake) -> None:
        """Ask for a model unless it is being asked for, or was a moment ago; `wake` the service with the answer."""
        where = (key.namespace, model_source(model))
        question = self._questions.setdefault(where, _Question())
        self._questions.move_to_end(where)
        question.waiting.add(key)
        if question.task is not None:
            return
        wait = question.ask_again_at - _now()
        if wait > 0:
            wake(key, _REFRESH_SECONDS if isinstance(question.answer, StoredModel) else wait)
            return
        question.task = asyncio.create_task(self._ask(key.namespace, model, question, wake), name=f"read {model.uri}")
        self._forget_oldest()

    async def close(self) -> None:
        """Stop asking."""
        tasks = [question.task for question in self._questions.values() if question.task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _ask(self, namespace: str, model: Model, question: _Question, wake: Wake) -> None:
        slots = self._slots_of.setdefault(namespace, asyncio.Semaphore(_AT_ONCE_PER_NAMESPACE))
        try:
            async with slots, self._slots:
                question.answer = await self._read(namespace, model)
        finally:
            question.task = None
        question.answered_at = _now()
        retry = 0.0
        if isinstance(question.answer, ModelUnreadable):
            question.failures += 1
            retry = min(_LAST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2 ** min(question.failures - 1, 8))
        else:
            question.failures = 0
        question.ask_again_at = question.answered_at + (retry or _NEW_SECONDS)
        waiting, question.waiting = question.waiting, set()
        for key in waiting:
            wake(key, 0.0)
            if retry:
                wake(key, retry)

    def _forget_oldest(self) -> None:
        while len(self._questions) > _KEPT:
            where, question = next(iter(self._questions.items()))
            if question.task is not None:
                return
            del self._questions[where]


def _now() -> float:
    return asyncio.get_running_loop().time()
