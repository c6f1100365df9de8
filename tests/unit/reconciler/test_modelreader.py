"""What services can rely on when a model store is asked for them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import Model
from inference_fleet.reconciler.modelreader import ModelReader
from inference_fleet.reconciler.observed import ServiceKey
from inference_fleet.reconciler.outcome import ModelUnreadable, StoredModel

CHAT = ServiceKey("team-a", "chat")
LLAMA = Model(name="llama", uri="s3://models/llama")


class Shop:
    """A store that counts how often it is asked, and a clock that can be moved."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: StoredModel | ModelUnreadable = StoredModel("sha256:aaa", 1, None)
        self.closed = asyncio.Event()
        self.closed.set()
        self.woken: list[tuple[ServiceKey, float]] = []
        self.reader = ModelReader(self.read)

    async def read(self, namespace: str, model: Model) -> StoredModel | ModelUnreadable:
        self.asked.append(namespace)
        await self.closed.wait()
        return self.answer

    def ask(self, key: ServiceKey = CHAT, model: Model = LLAMA) -> None:
        self.reader.ask(key, model, lambda key, after: self.woken.append((key, after)))

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


def run(monkeypatch: pytest.MonkeyPatch, story: Callable[[Shop, Callable[[float], None]], Awaitable[None]]) -> None:
    async def play() -> None:
        loop = asyncio.get_running_loop()
        real, moved = loop.time, [0.0]
        monkeypatch.setattr(loop, "time", lambda: real() + moved[0])
        shop = Shop()

        def move(seconds: float) -> None:
            moved[0] += seconds

        await story(shop, move)
        await shop.reader.close()

    asyncio.run(play())


def test_services_of_one_namespace_share_a_question_and_all_are_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(shop: Shop, _: Callable[[float], None]) -> None:
        other = ServiceKey("team-a", "other")
        shop.ask()
        shop.ask(other)
        await shop.settle()
        assert shop.asked == ["team-a"]
        assert set(shop.woken) == {(CHAT, 0.0), (other, 0.0)}
        assert shop.reader.answer("team-a", LLAMA) == shop.answer
        assert shop.reader.answer("team-b", LLAMA) is None, "another namespace has other credentials"

    run(monkeypatch, story)


def test_a_service_made_later_gets_what_the_store_holds_then(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(shop: Shop, move: Callable[[float], None]) -> None:
        shop.ask()
        await shop.settle()
        move(300)
        assert shop.reader.answer("team-a", LLAMA) is None, "the bytes may have changed since"
        shop.answer = StoredModel("sha256:bbb", 1, None)
        shop.ask()
        await shop.settle()
        assert shop.reader.answer("team-a", LLAMA) == shop.answer

    run(monkeypatch, story)


def test_who_still_wants_a_model_is_told_when_the_store_holds_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(shop: Shop, move: Callable[[float], None]) -> None:
        shop.ask()
        await shop.settle()
        shop.woken.clear()
        shop.ask()  # the plan was infeasible
        ((_, after),) = shop.woken
        assert shop.asked == ["team-a"]
        assert 0 < after < 120
        move(after)
        assert shop.reader.answer("team-a", LLAMA) is None
        assert shop.reader.answer("team-a", LLAMA, "sha256:aaa") is not None, (
            "the verdict does not flap while it is asked again"
        )
        shop.answer = StoredModel("sha256:bbb", 1, None)
        shop.ask()
        await shop.settle()
        assert shop.woken[-1] == (CHAT, 0.0)
        assert shop.reader.answer("team-a", LLAMA) == shop.answer

    run(monkeypatch, story)


def test_a_failure_is_asked_again_later_and_its_answer_stands_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(shop: Shop, move: Callable[[float], None]) -> None:
        shop.answer = ModelUnreadable(Reason.MODEL_MISSING, "not there")
        shop.ask()
        await shop.settle()
        shop.ask()
        assert len(shop.asked) == 1
        move(300)
        assert shop.reader.answer("team-a", LLAMA) == shop.answer
        shop.ask()
        await shop.settle()
        assert len(shop.asked) == 2

    run(monkeypatch, story)


def test_a_namespace_whose_stores_hang_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(shop: Shop, _: Callable[[float], None]) -> None:
        shop.closed.clear()
        for number in range(50):
            shop.ask(ServiceKey("hostile", f"{number}"), Model(name="m", uri=f"s3://models/{number}"))
        shop.ask()
        await shop.settle()
        assert "team-a" in shop.asked
        assert len(shop.asked) <= 8

    run(monkeypatch, story)


def test_a_question_that_breaks_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(shop: Shop, _: Callable[[float], None]) -> None:
        shop.closed.clear()
        shop.ask()
        await shop.settle()
        await shop.reader.close()
        shop.closed.set()
        shop.ask()
        await shop.settle()
        assert shop.reader.answer("team-a", LLAMA) == shop.answer

    run(monkeypatch, story)
