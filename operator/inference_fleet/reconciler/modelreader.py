"""Ask the model store in the background, and keep its answers.

A reconcile never waits for a store: it takes the last answer, or says that it wants one and is woken when it is there.
So a store that hangs delays only the services that use it. Services of one namespace with the same model and store
share one question; across namespaces nothing is shared, because credentials differ.
"""

import asyncio
import contextlib
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
_KEPT = 1024
_FIRST_RETRY_SECONDS = 5.0
_LAST_RETRY_SECONDS = 60.0


@dataclass(slots=True)
class _Question:
    answer: ModelRead = None
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
        self._questions: OrderedDict[tuple[str, str], _Question] = OrderedDict()

    def answer(self, namespace: str, model: Model) -> ModelRead:
        """The last answer for a model; None where there is none yet."""
        question = self._questions.get((namespace, model_source(model)))
        return question.answer if question else None

    def ask(self, key: ServiceKey, model: Model, wake: Wake) -> None:
        """Ask for a model unless it is being asked for, or failed a moment ago; `wake` the service with the answer."""
        where = (key.namespace, model_source(model))
        question = self._questions.setdefault(where, _Question())
        self._questions.move_to_end(where)
        question.waiting.add(key)
        now = asyncio.get_running_loop().time()
        if question.task is not None:
            return
        if question.ask_again_at > now:
            wake(key, question.ask_again_at - now)
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
        async with self._slots:
            question.answer = await self._read(namespace, model)
        question.task = None
        retry = 0.0
        if isinstance(question.answer, ModelUnreadable):
            question.failures += 1
            retry = min(_LAST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2 ** min(question.failures - 1, 8))
            question.ask_again_at = asyncio.get_running_loop().time() + retry
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
