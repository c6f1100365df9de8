"""What a reconcile can rely on from the queue."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from inference_fleet.reconciler.workqueue import WorkQueue

Story = Callable[[WorkQueue[str]], Awaitable[None]]


def run(story: Story) -> None:
    async def within_a_deadline() -> None:
        async with asyncio.timeout(5):
            await story(WorkQueue[str]())

    asyncio.run(within_a_deadline())


async def is_idle(queue: WorkQueue[str]) -> bool:
    try:
        async with asyncio.timeout(0.05):
            await queue.take()
    except TimeoutError:
        return True
    return False


def test_a_key_waits_once_however_often_it_is_added() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        for _ in range(100):
            queue.add("chat")
        assert len(queue) == 1
        assert await queue.take() == "chat"
        queue.done("chat")
        assert await is_idle(queue)

    run(story)


def test_a_key_added_while_it_is_worked_on_comes_again_and_never_to_two_workers() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add("chat")
        await queue.take()
        queue.add("chat")
        assert await is_idle(queue)
        queue.done("chat")
        assert await queue.take() == "chat"

    run(story)


def test_the_earliest_time_that_was_asked_for_wins() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add("chat", after=60)
        queue.add("chat", after=0)
        assert await queue.take() == "chat"
        queue.done("chat")
        assert await is_idle(queue)

    run(story)


def test_an_urgent_key_overtakes_one_that_waits() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add("later", after=30)
        queue.add("now")
        assert await queue.take() == "now"

    run(story)


def test_failures_come_back_later_and_later_and_a_success_resets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: 1.0)

    async def story(queue: WorkQueue[str]) -> None:
        loop = asyncio.get_running_loop()
        delays = []
        for _ in range(12):
            queue.add("broken", after=0)
            await queue.take()
            before = loop.time()
            queue.done("broken", failed=True)
            delays.append(round(queue._due["broken"] - before))
            queue._due.clear()
        assert delays[:4] == [1, 2, 4, 8]
        assert delays[-1] == 300
        queue.add("broken", after=0)
        await queue.take()
        queue.done("broken")
        queue.add("broken")
        await queue.take()
        queue.done("broken", failed=True)
        assert round(queue._due["broken"] - loop.time()) == 1

    run(story)


def test_a_failed_key_does_not_wait_when_something_new_happens() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add("chat")
        await queue.take()
        queue.done("chat", failed=True)
        queue.add("chat")
        assert await queue.take() == "chat"

    run(story)


def test_what_needs_an_answer_overtakes_what_is_due_already() -> None:
    async def story(queue: WorkQueue[str]) -> None:
        queue.add("status only")
        queue.add("new spec", after=-60)
        assert [await queue.take(), await queue.take()] == ["new spec", "status only"]

    run(story)
