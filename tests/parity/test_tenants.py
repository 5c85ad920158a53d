"""Two tenants share one app and one reference store: no passage crosses, through any drop-in.

Both ask the same questions in the same words, interleaved and many at once, and each has documents
of its own. First the app's retriever finds them and they are remembered; then it finds nothing, and
what a tenant is answered from is what was remembered in his scope.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import pytest

from skr_core import ReferenceStore
from skr_store import Store
from tests.parity.tenants import DOORS, TENANTS, App, question

MANY = int(os.environ.get("SKR_TENANT_QUESTIONS", "1000"))
"""The questions of each tenant in the long test."""

AT_ONCE = 8

Asked = Callable[[str, str], Awaitable[object]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReferenceStore]:
    with Store.open(tmp_path / "store") as store:
        yield store


async def ask_all(app: App, ask: Asked, numbers: Sequence[int]) -> None:
    """Let both tenants ask all questions, in random order, several at a time."""
    slots, chance = asyncio.Semaphore(AT_ONCE), random.Random(len(numbers))
    asked = [(tenant, number) for tenant in TENANTS for number in numbers]
    chance.shuffle(asked)

    async def one(tenant: str, number: int) -> None:
        async with slots:
            said = str(await ask(tenant, question(number)))
        (other,) = set(TENANTS) - {tenant}
        assert tenant in said, said
        assert other not in said, said

    await asyncio.gather(*(one(*each) for each in asked))
    assert not app.model.crossed


async def no_passage_crosses(
    name: str, ways: Sequence[str], store: ReferenceStore, numbers: Sequence[int]
) -> None:
    app = App(store)
    door, chance = DOORS[name](app), random.Random(7)

    async def ask(tenant: str, asked: str) -> object:
        if chance.choice(ways) == "async":
            return await door.aask(tenant, asked)
        return await asyncio.to_thread(door.ask, tenant, asked)

    await ask_all(app, ask, numbers)
    app.is_away = True
    await ask_all(app, ask, numbers[::4])
    for tenant in TENANTS:
        kept = store.in_scope(tenant).retrieve("colza")
        assert kept
        assert all(tenant in each.text for each in kept)
    assert not store.retrieve("colza"), "nothing is shared by all"


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("name", DOORS)
async def test_no_passage_crosses(name: str, way: str, store: ReferenceStore) -> None:
    await no_passage_crosses(name, [way], store, range(20))


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", DOORS)
async def test_no_passage_of_many_crosses(name: str, store: ReferenceStore) -> None:
    numbers = random.Random(7).choices(range(10 * MANY), k=MANY)
    await no_passage_crosses(name, ["sync", "async"], store, numbers)
