"""What the page is told: the graph's events, what is kept of a run, and errors of one line."""

from __future__ import annotations

import asyncio
import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from blockbuster import blockbuster_ctx
from starlette.datastructures import UploadFile as StarletteFile

from langchain_skr import load_model
from skr_app.web import (
    LARGEST_UPLOAD,
    MOST_FILES,
    STATIC,
    UNKNOWN,
    Access,
    Documents,
    Page,
    Runs,
    checked_name,
    create_app,
)
from skr_app.web.documents import LISTED
from skr_app.web.runs import LISTED as RUNS_LISTED
from skr_app.web.showing import document_of
from skr_app.web.streaming import shown, without_folders
from skr_core import Generation, OnToken, Prompt, Reference, Settings, read_questions
from skr_core.errors import InputError, RetrieverError, StampMismatch
from skr_core.prompts import SUFFICIENT
from skr_core.routers.saving import SavedRouter
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp
from skr_graphs import events as graph_events
from skr_learn import Record
from skr_store import Store
from skr_store.ingestion import IngestReport, ingest
from tests.servers import OpenAIServer
from tests.skr_app.web.conftest import HOSTILE, TWO_HOPS, MakePage, pages, served_by, serving, world

Told = list[tuple[str, Any]]


def client(page: Page) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=create_app(page, Access()), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


def read(stream: str) -> Told:
    told = []
    for each in stream.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in each.split("\n"))
        told.append((lines.get("event", ""), orjson.loads(lines["data"])))
    return told


async def ask(asking: httpx.AsyncClient, question: str, **more: Any) -> Told:
    answer = await asking.post("/api/questions", json={"question": question, **more})
    assert answer.headers["content-type"].startswith("text/event-stream")
    return read(answer.text)


async def decision(asking: httpx.AsyncClient, question: str) -> str:
    return (await ask(asking, question))[-1][1]["decided"]


async def test_the_graphs_own_events_are_told_and_then_the_run(make_page: MakePage):
    async with client(make_page()) as asking:
        told = await ask(asking, TWO_HOPS)
        *events, (last, run) = told
        assert {name for name, _ in events} == {""}
        kinds = [event["type"] for _, event in events]
        assert kinds[:2] == ["start", "route"]
        assert {"query", "references", "draft", "reflection", "sources", "token", "answer"} <= {
            *kinds
        }
        assert all(hasattr(graph_events, kind) for kind in kinds)
        assert last == "run"
        assert run["rounds"] == 2
        assert "Cincinnati" in run["answer"]
        assert run["grounded"] is True
        assert run["calls"] == 2
        assert run["usd"] == pytest.approx(
            sum(
                (each["prompt_tokens"] + 2 * each["completion_tokens"]) / 1e6
                for each in run["output"]["usage"].values()
            )
        )
        assert "".join(piece["text"] for piece in run["pieces"]) == run["answer"]
        for piece in run["pieces"]:
            if "citation" in piece:
                cited = run["citations"][piece["citation"]]
                assert piece["text"] == f"[{cited['marker']}]"
                reference = next(
                    each
                    for each in run["output"]["references"]
                    if each["id"] == cited["reference_id"]
                )
                assert "".join(cited["parts"]) == reference["text"]


async def test_the_sentence_that_supports_is_cut_out_of_its_source(make_page: MakePage):
    async with client(make_page()) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        quoted = {cited["parts"][1] for cited in run["citations"]}
        assert "Steven Spielberg was born in Cincinnati, Ohio." in {each.strip() for each in quoted}


async def test_what_comes_from_a_passage_is_cleaned_and_stays_text(make_page: MakePage):
    async with client(make_page()) as asking:
        run = (await ask(asking, HOSTILE))[-1][1]
        assert "<script>" in str(run["citations"])  # as text: the page makes no HTML of it
        assert "\u202e" not in str(run)


async def test_a_person_may_say_how_a_question_is_answered(make_page: MakePage):
    async with client(make_page()) as asking:
        direct = (await ask(asking, TWO_HOPS, action="direct"))[-1][1]
        single = (await ask(asking, TWO_HOPS, action="single"))[-1][1]
        assert (direct["decided"], direct["rounds"]) == ("direct", 0)
        assert (single["decided"], single["rounds"]) == ("single", 1)
        refused = await asking.post("/api/questions", json={"question": "Who?", "action": "twice"})
        assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY


async def test_a_conversation_is_remembered_and_kept(make_page: MakePage, tmp_path: Path):
    model = ScriptedModel(["Paris [1].", "And its river is the Seine?", "The Seine [1]."])
    page = make_page(model)
    async with client(page) as asking:
        first = (await ask(asking, "Which film has a shark?"))[-1][1]
        talk = first["conversation"]
        assert talk == first["id"]
        told = await ask(asking, "And its director?", conversation=talk)
        assert "condense" in [event.get("type") for name, event in told if not name]
        assert told[-1][1]["conversation"] == talk
        kept = (await asking.get(f"/api/conversations/{talk}")).json()
        assert [each["question"] for each in kept] == [
            "Which film has a shark?",
            "And its director?",
        ]
        listed = (await asking.get("/api/runs")).json()["runs"]
        assert [each["question"] for each in listed] == [
            "And its director?",
            "Which film has a shark?",
        ]
    shown = (tmp_path / "page" / "runs.jsonl").read_bytes().count(b"\n")
    assert shown == 2


async def test_runs_and_votes_outlive_the_process(tmp_path: Path, make_page: MakePage):
    page = make_page()
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        await asking.put(f"/api/runs/{run['id']}/vote", json={"right": True})
    page.system.runs.__exit__()
    with Runs(tmp_path / "page") as again:
        assert again.one(run["id"])["right"] is True
        assert again.one(run["id"])["pieces"] == run["pieces"]
        assert [right for _, right in again.judged()] == [True]


async def test_a_vote_becomes_a_record_and_may_be_taken_back(make_page: MakePage):
    page = make_page()
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        vote = f"/api/runs/{run['id']}/vote"
        assert (await asking.put(vote, json={"right": False})).json() == {"right": False}
        [record] = page.calibrating.votes()
        assert record.question == TWO_HOPS
        assert record.outcomes["loop"].score == 0.0
        assert record.outcomes["direct"].score == UNKNOWN
        assert record.extra["imputed"] == "direct"
        assert (await asking.get("/api/runs")).json()["runs"][0]["right"] is False
        await asking.put(vote, json={"right": None})
        assert page.calibrating.votes() == []


async def test_right_answers_make_questions(tmp_path: Path, make_page: MakePage):
    page = make_page()
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        follow = {"question": "Which film has a shark?", "conversation": run["conversation"]}
        later = (await asking.post("/api/questions", json=follow)).text
        assert "Which film" in later
        [latest, first] = (await asking.get("/api/runs")).json()["runs"]
        for each, answer in ((first, " Dayton "), (latest, "Jaws")):
            vote = f"/api/runs/{each['id']}/vote"
            await asking.put(vote, json={"right": False, "answer": answer})
        got = await asking.get("/api/questions")
        assert "questions.jsonl" in got.headers["content-disposition"]
        (tmp_path / "questions.jsonl").write_bytes(got.content)
        one, two = read_questions(tmp_path / "questions.jsonl")
        assert (one.question, one.gold, one.history) == (TWO_HOPS, ("Dayton",), ())
        assert (two.gold, two.history[0]) == (("Jaws",), ("user", TWO_HOPS))
        assert len(two.history) == 2
        assert (await asking.get("/api/runs")).json()["runs"][1]["right_answer"] == "Dayton"
        for right in (True, None):  # which take the answer back with the thumb
            await asking.put(vote, json={"right": right, "answer": "Jaws"})
            assert (await asking.get("/api/questions")).text.count("\n") == 1


async def test_what_is_expected_of_an_answer_nobody_gave_is_read_off_the_records(
    make_page: MakePage,
):
    page = make_page(collected=True)
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        await asking.put(f"/api/runs/{run['id']}/vote", json={"right": True})
    [record] = page.calibrating.votes()
    assert record.outcomes["direct"].score == 0.5
    assert record.stamp == page.calibrating.records[0].stamp


def test_records_of_another_model_are_refused_at_once(make_page: MakePage):
    page = make_page()
    record = Record.of("Who?", direct=("", 1), loop=("", 0), stamp=Stamp(model="other"))
    with pytest.raises(StampMismatch, match="'other'"):
        replace(page.calibrating, records=[record])


async def test_votes_that_cannot_be_compared_are_left_out_and_counted(make_page: MakePage):
    page = make_page(collected=True)
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS, action="single"))[-1][1]
        await asking.put(f"/api/runs/{run['id']}/vote", json={"right": True})
    used, left_out = page.calibrating.comparable()
    assert (len(used), left_out) == (40, 1)


async def test_records_are_collected_with_progress_and_not_twice(
    make_page: MakePage, tmp_path: Path
):
    page = make_page()
    async with client(page) as asking:
        for _ in range(2):
            told = read((await asking.post("/api/collect", json={})).text)
            assert told[-2] == ("progress", {"done": 3, "total": 3})
            name, result = told[-1]
            assert (name, result["records"], result["failed"]) == ("result", 3, 0)
            assert result["right"]["direct"] == 0
            assert result["right"]["loop"] == pytest.approx(2 / 3)
        router = (await asking.get("/api/router")).json()
        assert (router["records"], router["questions"]) == (3, 3)
    assert (tmp_path / "page" / "self-knowledge.jsonl").read_bytes().count(b"\n") == 3


@contextmanager
def down() -> Iterator[tuple[Settings, Store]]:
    with world() as (settings, store):
        yield settings.but(retriever=Down(RetrieverError("it is gone"))), store


async def test_a_collection_that_failed_says_why(make_page: MakePage):
    async with client(make_page(opened=down)) as asking:
        name, line = read((await asking.post("/api/collect", json={})).text)[-1]
        assert name == "error"
        assert "every question failed" in line
        assert "it is gone" in line


async def test_calibrating_without_records_says_what_is_missing(make_page: MakePage):
    async with client(make_page()) as asking:
        told = read((await asking.post("/api/calibrate", json={})).text)
        assert told[-1][0] == "error"
        assert "too few" in told[-1][1]


async def test_of_two_that_calibrate_one_is_served_as_a_whole(make_page: MakePage, tmp_path: Path):
    page = make_page(collected=True)
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        await asking.put(f"/api/runs/{run['id']}/vote", json={"right": True})
        assert (await asking.get("/api/router")).json()["curve"] is None
        both = await asyncio.gather(*(asking.post("/api/calibrate", json={}) for _ in range(2)))
        refused, told = sorted((read(each.text) for each in both), key=len)
        said = "a calibration is under way: wait for it, or stop it where it was begun"
        assert refused == [("error", said)]
        steps = [said["done"] for name, said in told if name == "progress"]
        assert steps == sorted(steps)
        name, result = told[-1]
        assert (name, result["records"]) == ("result", 41)
        router = (await asking.get("/api/router")).json()
        assert router["sentences"] == result["sentences"]
        curve = router["curve"]
        assert curve["verdict"] == result["sentences"][0]
        assert "of 41 right instead of" in curve["verdict"]
        assert len(curve["costs"]) == len(curve["accuracy"]) > 2
        assert {each["action"] for each in curve["constants"]} == {"direct", "loop"}
        serving = page.system.serving
        assert serving.found is not None
        saved = SavedRouter.read(tmp_path / "page" / "router.skr")
        assert saved.kind == serving.found.router.kind == router["name"]
        assert await decision(asking, "What is 7 plus 1?") == "direct"
        assert await decision(asking, "Who is the CEO of firm 7?") == "loop"
        assert router["monitor"].startswith("Too few answers to tell: 0 so far")
        run = (await ask(asking, "Who is the CEO of firm 8?", action="direct"))[-1][1]
        router = (await asking.get("/api/router")).json()  # what a person chose was not routed
        assert router["monitor"].startswith("Too few answers to tell: 2 so far")


async def upload(asking: httpx.AsyncClient, *files: tuple[str, bytes]) -> list[dict[str, str]]:
    """Upload files, and wait until all have been read; gives what became of every upload."""
    answer = await asking.post("/api/documents", files=[("files", each) for each in files])
    assert (answer.status_code, answer.json()) == (HTTPStatus.ACCEPTED, {"uploaded": len(files)})
    return await all_read(asking)


async def all_read(asking: httpx.AsyncClient) -> list[dict[str, str]]:
    while True:
        uploads: list[dict[str, str]] = (await asking.get("/api/uploads")).json()
        if all(each["state"] in ("done", "failed") for each in uploads):
            return uploads
        await asyncio.sleep(0.01)


async def documents(asking: httpx.AsyncClient, find: str = "") -> list[dict[str, Any]]:
    found = (await asking.get("/api/documents", params={"find": find})).json()
    listed: list[dict[str, Any]] = found["documents"]
    assert found["total"] == len(listed)
    return listed


async def sources_of(asking: httpx.AsyncClient, question: str) -> str:
    run = (await ask(asking, question, action="single"))[-1][1]
    return str(run["output"]["references"])


FERRY = b"# Ferry\n\nThe ferry of Lorn sails at noon."


async def test_uploads_are_read_and_told_of(make_page: MakePage, tmp_path: Path):
    page = make_page()
    before = page.system.store.count()
    async with client(page) as asking:
        broken = b'{"text": "The harbour of Lorn is old."}\n{nonsense\n'
        told = await upload(asking, ("../../etc/ferry.md", FERRY), ("broken.jsonl", broken))
        assert told[0] == {"name": "ferry.md", "state": "done", "line": "1 passage added"}
        assert told[1]["line"].startswith("1 passage added, 1 left out: broken.jsonl, line 2")
        assert (await asking.get("/api/system")).json()["references"] == before + 2
        run = (await ask(asking, "When does the ferry of Lorn sail?"))[-1][1]
        assert "noon" in run["answer"]
        listed = await documents(asking, "FERRY")
        assert [(each["name"], each["passages"]) for each in listed] == [("ferry.md", 1)]
        assert listed[0]["added"] == pytest.approx(time.time(), abs=600)
        assert str(tmp_path) not in str([told, run, listed])
    kept = [path.name for path in (tmp_path / "page" / "uploads").rglob("*") if path.is_file()]
    assert sorted(kept) == ["broken.jsonl", "ferry.md"]


async def test_a_file_that_is_uploaded_again_replaces_the_one_of_its_name(make_page: MakePage):
    question = "When does the ferry of Lorn sail?"
    async with client(make_page()) as asking:
        await upload(asking, ("ferry.md", FERRY))
        told = await upload(asking, ("ferry.md", FERRY.replace(b"noon", b"dusk")))
        assert told[-1]["line"] == "1 passage added, 1 old passage removed"
        found = await sources_of(asking, question)
        assert "dusk" in found
        assert "noon" not in found
        assert len(await documents(asking, "ferry")) == 1
        assert (await upload(asking, ("ferry.md", FERRY.replace(b"noon", b"dusk"))))[-1][
            "line"
        ] == "unchanged"


async def test_what_is_removed_is_found_no_more(make_page: MakePage, tmp_path: Path):
    page = make_page()
    elsewhere = tmp_path / "elsewhere" / "tower.txt"
    elsewhere.parent.mkdir()
    elsewhere.write_text("The tower of Lorn is 31 metres tall.")
    page.system.store.sync(elsewhere.parent)
    page.system.store.in_scope("a tenant").add(
        [Reference.of("Hidden.", metadata={"source": "own"})]
    )
    async with client(page) as asking:
        await upload(asking, ("ferry.md", FERRY))
        listed = {each["name"]: each["id"] for each in await documents(asking)}
        assert set(listed) == {"ferry.md", "tower.txt", ""}  # no other scope, and no folder
        for name in ("ferry.md", "tower.txt"):
            gone = await asking.request("DELETE", f"/api/documents/{listed[name]}", json={})
            assert gone.json() == {"removed": 1}
        assert await documents(asking, ".") == []
        again = await asking.request("DELETE", f"/api/documents/{listed[name]}", json={})
        assert again.status_code == HTTPStatus.BAD_REQUEST
        assert "no such document" in again.json()["error"]
        assert "noon" not in await sources_of(asking, "When does the ferry of Lorn sail?")
        assert "31" not in await sources_of(asking, "How tall is the tower of Lorn?")
        assert (await upload(asking, ("ferry.md", FERRY)))[-1]["line"] == "1 passage added"
    assert elsewhere.exists()


async def test_the_latest_documents_are_listed_and_others_are_found(make_page: MakePage):
    page = make_page()
    page.system.store.add(
        [
            Reference.of(f"Note {n}.", metadata={"source": f"/srv/notes/{n}.md"})
            for n in range(LISTED + 5)
        ]
    )
    async with client(page) as asking:
        found = (await asking.get("/api/documents")).json()
        assert (len(found["documents"]), found["total"]) == (LISTED, LISTED + 6)
        assert [each["name"] for each in await documents(asking, "104")] == ["104.md"]


class Held:
    """A model that answers with the first reference when it is told to go on."""

    name = "held"

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        raise NotImplementedError("the page awaits its models")

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        self.begun.set()
        await self.go_on.wait()
        return Generation(f"{SUFFICIENT}\nThe ferry of Lorn sails at noon [1].")


async def test_a_question_under_way_keeps_what_is_removed_meanwhile(make_page: MakePage):
    model = Held()
    async with client(make_page(model)) as asking:
        await upload(asking, ("ferry.md", FERRY))
        question = "When does the ferry of Lorn sail?"
        answer = asyncio.create_task(ask(asking, question, action="single"))
        await model.begun.wait()
        [ferry] = await documents(asking, "ferry")
        await asking.request("DELETE", f"/api/documents/{ferry['id']}", json={})
        model.go_on.set()
        run = (await answer)[-1][1]
        assert "".join(run["citations"][0]["parts"]) == "The ferry of Lorn sails at noon."
        assert "noon" not in await sources_of(asking, question)


class Stuck:
    """A store's `ingest` that goes on when it is told to."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def __call__(self, paths: Any, store: Any, **more: Any) -> IngestReport:
        self.go_on.wait()
        return ingest(paths, store, **more)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    stuck = Stuck()
    monkeypatch.setattr("skr_app.web.documents.ingest", stuck)
    yield stuck
    stuck.go_on.set()


async def test_uploads_wait_for_their_turn_and_have_a_quota(
    make_page: MakePage, stuck: Stuck, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("skr_app.web.documents.MOST_WAITING", 2)
    async with client(make_page()) as asking:
        both = [("files", ("ferry.md", FERRY)), ("files", ("harbour.md", FERRY))]
        assert (await asking.post("/api/documents", files=both)).status_code == 202
        more = [("files", ("more.md", FERRY))]
        refused = await asking.post("/api/documents", files=more)
        assert refused.status_code == HTTPStatus.BAD_REQUEST
        assert refused.json()["error"].startswith("2 files wait already, and at most 2 may")
        stuck.go_on.set()
        await all_read(asking)
        told = await upload(asking, ("more.md", FERRY))
        assert [each["name"] for each in told] == ["ferry.md", "harbour.md", "more.md"]
        monkeypatch.setattr("skr_app.web.documents.MOST_KEPT", 2_000_000)
        large = [("files", ("large.md", b"x" * 2_000_000))]
        refused = await asking.post("/api/documents", files=large)
        assert "at most 2 MB of uploaded files are kept" in refused.json()["error"]


async def test_a_document_that_is_being_added_is_not_removed(make_page: MakePage, stuck: Stuck):
    async with client(make_page()) as asking:
        stuck.go_on.set()
        await upload(asking, ("ferry.md", FERRY))
        stuck.go_on.clear()
        again = [("files", ("ferry.md", FERRY))]
        await asking.post("/api/documents", files=again)
        [ferry] = await documents(asking, "ferry")
        refused = await asking.request("DELETE", f"/api/documents/{ferry['id']}", json={})
        assert refused.json() == {"error": "ferry.md is being added: remove it when that is done"}
        stuck.go_on.set()


def test_what_waits_is_dropped_when_the_page_is_closed(tmp_path: Path, stuck: Stuck):
    with Store.ephemeral() as store:
        with Documents(tmp_path, store) as page:
            files = [StarletteFile(BytesIO(FERRY), filename=f"{n}.md") for n in range(3)]
            page.add(files)
            _wait_until(lambda: page.uploads()[0].state == "reading")
            threading.Timer(0.2, stuck.go_on.set).start()
        states = [each.state for each in page.uploads()]
        assert states == ["failed", "waiting", "waiting"]
        assert list(tmp_path.rglob("*")) == []


@pytest.mark.integration
def test_large_uploads_do_not_hold_up_a_question(make_page: MakePage):
    words = [f"word{number}" for number in range(5_000)]
    pick = random.Random(0)
    large = "\n\n".join(" ".join(pick.choices(words, k=80)) for _ in range(3_000)).encode()
    with serving(make_page()) as url:
        for number in range(8):
            files = [("files", (f"large{number}.md", large + str(number).encode()))]
            assert httpx.post(f"{url}/api/documents", files=files, timeout=60).status_code == 202
        answer = httpx.post(f"{url}/api/questions", json={"question": TWO_HOPS}, timeout=600)
        assert "Cincinnati" in read(answer.text)[-1][1]["answer"]
        states = [each["state"] for each in httpx.get(f"{url}/api/uploads", timeout=60).json()]
        assert states.count("reading") <= 1
        assert "waiting" in states


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ([("files", ("run.exe", b"MZ"))], "unknown kind"),
        ([("files", ("bomb.jsonl.gz", b"x"))], "unknown kind"),
        ([("files", (".md", b"x"))], "unknown kind"),
        ([("files", ("a.md", b"x")), ("files", ("A.md", b"y"))], "same name"),
        ([("other", ("a.md", b"x"))], "choose a file"),
        ([("files", (f"{n}.md", b"x")) for n in range(MOST_FILES + 1)], "many files"),
    ],
)
async def test_uploads_are_limited(make_page: MakePage, files: Any, line: str):
    async with client(make_page()) as asking:
        answer = await asking.post("/api/documents", files=files)
        assert answer.status_code == HTTPStatus.BAD_REQUEST
        assert line in answer.json()["error"]
        assert (await asking.get("/api/uploads")).json() == []


async def test_a_file_of_nothing_is_one_line_and_not_kept(make_page: MakePage, tmp_path: Path):
    async with client(make_page()) as asking:
        [told] = await upload(asking, ("a.md", b""))
        assert told["state"] == "failed"
        assert told["line"].startswith("no passage found in a.md")
        assert await documents(asking, "a.md") == []
    assert not list((tmp_path / "page" / "uploads").rglob("*.md"))


async def test_an_upload_that_is_too_large_is_refused(make_page: MakePage):
    async with client(make_page()) as asking:
        headers = {"content-length": str(LARGEST_UPLOAD + 1)}
        answer = await asking.post("/api/documents", content=b"x", headers=headers)
        assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a/b\\c.md", "c.md"),
        ("lamp \N{ELECTRIC LIGHT BULB}, 2 (new).MD", "lamp \N{ELECTRIC LIGHT BULB}, 2 (new).MD"),
        ("y" * 252 + ".md", "y" * 252 + ".md"),
    ],
)
def test_names_of_uploads_are_one_part_of_a_path(given: str, kept: str):
    assert checked_name(given) == kept


@pytest.mark.parametrize("given", ["..md", "", ".md", "a.md/", "notes"])
def test_a_name_of_nothing_is_refused(given: str):
    with pytest.raises(InputError, match="unknown kind"):
        checked_name(given)


@pytest.mark.parametrize(
    ("given", "beginning"),
    [
        ("x" * 300, "x" * 200),
        ("\N{CJK UNIFIED IDEOGRAPH-71C8}" * 200, "\N{CJK UNIFIED IDEOGRAPH-71C8}" * 70),
        ("\N{ELECTRIC LIGHT BULB}" * 200, "\N{ELECTRIC LIGHT BULB}" * 50),
        ("a" + "e\N{COMBINING ACUTE ACCENT}" * 150, "ae"),
        ("what is this?", "what is this_"),
        (".notes", "notes"),
    ],
)
def test_no_name_that_is_changed_takes_that_of_another(given: str, beginning: str, tmp_path: Path):
    one, other = checked_name(f"{given}.md"), checked_name(f"{given[:-1]}!.md")
    assert one != other
    assert one == checked_name(f"/elsewhere/{given}.md")  # uploaded again it replaces itself
    assert one.startswith(beginning)
    assert Path(one).suffix == ".md"
    assert len(one.encode()) <= 255
    for name in (one, other):
        (tmp_path / name).touch(exist_ok=False)


async def test_long_names_are_uploaded_listed_and_removed(make_page: MakePage):
    names = [f"{letter * 200}{n}.md" for letter in "\u71c8\U0001f4a1" for n in (1, 2)]
    async with client(make_page()) as asking:
        bodies = [b"# Lamp\n\nThe lamp number %d burns." % n for n in range(4)]
        told = await upload(asking, *zip(names, bodies, strict=True))
        assert [each["line"] for each in told] == ["1 passage added"] * 4
        listed = await documents(asking, "-")
        assert {each["name"] for each in listed} == {each["name"] for each in told}
        gone = await asking.request("DELETE", f"/api/documents/{listed[0]['id']}", json={})
        assert gone.json() == {"removed": 1}
        assert len(await documents(asking, "-")) == 3


class Down:
    """A retriever that fails."""

    name = "down"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def retrieve(self, query: str):
        raise self.error

    async def aretrieve(self, query: str):
        raise self.error


@pytest.mark.parametrize(
    "error", [RetrieverError("the index is gone"), KeyError("secret in a traceback")]
)
async def test_a_failure_is_one_line(make_page: MakePage, error: Exception):
    page = make_page()
    page.system.serve(page.system.settings.but(retriever=Down(error)))
    async with client(page) as asking:
        name, line = (await ask(asking, TWO_HOPS))[-1]
        assert name == "error"
        assert "\n" not in line
        assert "Traceback" not in line
        assert (await asking.get("/api/runs")).json()["runs"] == []


async def test_what_should_not_fail_tells_nothing_of_itself(
    make_page: MakePage, caplog: pytest.LogCaptureFixture
):
    page = make_page()
    page.system.runs._runs.rows["broken"] = {"key": "broken"}
    async with client(page) as asking:
        answer = await asking.get("/api/runs/broken")
        assert answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
        assert answer.json() == {
            "error": "something failed that should not: what it was stands in the log of skr serve"
        }
        assert "content-security-policy" in answer.headers
    assert "a request failed" in caplog.text


@pytest.mark.parametrize("body", [{}, {"question": ""}, {"question": "x" * 9_000}, []])
async def test_input_that_cannot_be_used_is_one_line(make_page: MakePage, body: Any):
    async with client(make_page()) as asking:
        answer = await asking.post("/api/questions", json=body)
        assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
        assert "\n" not in answer.json()["error"]


@pytest.mark.integration
def test_closing_the_tab_cancels_the_question(make_page: MakePage):
    with OpenAIServer(fault="drip") as model:
        asked = load_model("openai:test", base_url=model.url, api_key="none")
        body = {"question": TWO_HOPS}
        with serving(make_page(asked)) as url:
            with httpx.stream("POST", f"{url}/api/questions", json=body, timeout=60) as answer:
                lines = answer.iter_lines()  # closing it would close the connection
                for line in lines:
                    if '"start"' in line and "answer_with_references" in line:
                        break
                _wait_until(lambda: model._in_flight == 1)
            _wait_until(lambda: model._in_flight == 0)
            assert httpx.get(f"{url}/api/runs", timeout=60).json()["runs"] == []


class Silent:
    """A model that never answers, and notes that it is told to end."""

    name = "silent"

    def __init__(self) -> None:
        self.ended = threading.Event()

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        raise NotImplementedError("the page awaits its models")

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError


@pytest.mark.integration
def test_a_server_that_ends_tells_whoever_waits(
    make_page: MakePage, caplog: pytest.LogCaptureFixture
):
    model = Silent()
    with served_by(make_page(model)) as (server, url):
        server.config.timeout_graceful_shutdown = 60  # however busy the machine is
        body = {"question": TWO_HOPS}
        with httpx.stream("POST", f"{url}/api/questions", json=body, timeout=60) as answer:
            told = []
            for line in answer.iter_lines():
                told.append(line)
                if '"start"' in line and "answer_with_references" in line:
                    server.should_exit = True
    assert told[-3:] == ["event: error", 'data: "skr serve was ended"', ""]
    assert caplog.messages == []
    assert model.ended.wait(60)


def _wait_until(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


async def test_questions_are_answered_side_by_side(make_page: MakePage):
    async with client(make_page()) as asking:
        questions = [f"Where was the director of the film {n} born?" for n in range(6)]
        told = await asyncio.gather(*(ask(asking, question) for question in questions))
        assert [each[-1][1]["question"] for each in told] == questions
        assert len({each[-1][1]["id"] for each in told}) == 6


async def test_nothing_blocks_the_loop(make_page: MakePage):
    page = make_page()
    async with client(page) as asking:
        await ask(asking, TWO_HOPS)  # imports what the first question needs
        with blockbuster_ctx():
            run = (await ask(asking, TWO_HOPS))[-1][1]
            await asking.put(f"/api/runs/{run['id']}/vote", json={"right": True})
            await upload(asking, ("ferry.md", FERRY))
            [ferry] = await documents(asking, "ferry")
            await asking.request("DELETE", f"/api/documents/{ferry['id']}", json={})
            assert (await asking.get("/api/system")).status_code == 200


FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(")


@pytest.mark.parametrize("script", sorted(Path(STATIC).glob("*.js")), ids=lambda path: path.name)
def test_no_script_makes_html_of_a_text(script: Path):
    text = script.read_text()
    assert [word for word in FORBIDDEN if word in text] == []
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/srv/a/votes.jsonl: no space", "votes.jsonl: no space"),
        ("[Errno 28] full: '/srv/My notes/votes.jsonl'", "[Errno 28] full: 'votes.jsonl'"),
        ("no store at /a/b: give --store /c/d", "no store at b: give --store d"),
        ("moved (/a/b.md) to=/c/d.md", "moved (b.md) to=d.md"),
        ("path:/etc/ssl/ca.pem", "path:ca.pem"),
        ("read file:///home/ada/b.md", "read b.md"),
        ("/store is gone, /", "store is gone, /"),
        (
            "at https://a.test/b/c and http://127.0.0.1:8/v1",
            "at https://a.test/b/c and http://127.0.0.1:8/v1",
        ),
        ("km/h, and/or, 3 / 4, ~/notes, ../up, </b>", "km/h, and/or, 3 / 4, ~/notes, ../up, </b>"),
    ],
)
def test_messages_name_files_without_folders(said: str, shown: str):
    assert without_folders(said) == shown


def full(_: int) -> None:
    raise OSError(28, "No space left on device")


async def test_a_vote_that_a_full_disk_does_not_take_is_told(
    make_page: MakePage, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    page = make_page()
    async with client(page) as asking:
        run = (await ask(asking, TWO_HOPS))[-1][1]
        vote = f"/api/runs/{run['id']}/vote"
        await asking.put(vote, json={"right": True})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("skr_core.files.writing.os.fsync", full)
            refused = await asking.put(vote, json={"right": False})
            name, line = (await ask(asking, TWO_HOPS))[-1]
        said = "votes.jsonl cannot be written: [Errno 28] No space left on device"
        assert (refused.status_code, refused.json()) == (500, {"error": said})
        assert (name, line) == ("error", said.replace("votes", "runs"))
        assert str(tmp_path / "page" / "votes.jsonl") in caplog.text
        [kept] = (await asking.get("/api/runs")).json()["runs"]
        assert kept["right"] is True
        assert (await asking.put(vote, json={"right": False})).status_code == 200
    assert len((tmp_path / "page" / "votes.jsonl").read_text().splitlines()) == 2


async def test_nothing_is_acknowledged_that_goes_into_a_removed_folder(tmp_path: Path):
    with pages(tmp_path / "page") as make, Store.open(tmp_path / "store") as store:
        page = make()
        page.system.serve(page.system.settings.but(retriever=store))
        page.documents.store = page.system.store = store
        async with client(page) as asking:
            await upload(asking, ("ferry.md", FERRY))
            run = (await ask(asking, TWO_HOPS))[-1][1]
            shutil.rmtree(tmp_path / "store")
            told = await upload(asking, ("harbour.md", b"The harbour of Lorn is old."))
            assert told[-1]["state"] == "failed"
            assert told[-1]["line"] == "store was removed while it was open: start again"
            assert (await ask(asking, TWO_HOPS))[-1][0] == "run"  # from what is open still
            shutil.rmtree(tmp_path / "page")
            refused = await asking.put(f"/api/runs/{run['id']}/vote", json={"right": True})
            said = "votes.jsonl was removed while it was open: start again"
            assert refused.json() == {"error": said}
            assert (await ask(asking, TWO_HOPS))[-1] == ("error", said.replace("votes", "runs"))
            refused = await asking.post("/api/documents", files=[("files", ("a.md", FERRY))])
            assert str(tmp_path) not in refused.text


async def test_what_failed_in_a_run_names_no_folder(make_page: MakePage):
    """A search fails, and a passage says where its file is."""
    page = make_page(ScriptedModel(["I do not know.", "1. Who?", "I do not know."]))
    page.system.store.add(
        [Reference.of("The ferry sails.", metadata={"file_path": "/srv/notes/ferry.md"})]
    )
    async with client(page) as asking:
        run = (await ask(asking, "When does the ferry sail?", action="single"))[-1][1]
        assert "ferry.md" in str(run)
        assert "/srv" not in str(run)
        gone = Down(RetrieverError("/srv/notes/index is gone"))
        page.system.serve(page.system.settings.but(retriever=gone))
        told = str(await ask(asking, "When does the ferry sail?", action="single"))
        assert "index is gone" in told
        assert "/srv" not in told
    given = {"errors": ["/a/b is gone"], "text": "/a/b", "model": "openai:/a/b"}
    assert shown(given) == {"errors": ["b is gone"], "text": "/a/b", "model": "openai:b"}


def test_a_history_has_one_server(make_page: MakePage, tmp_path: Path):
    make_page()
    with pytest.raises(InputError, match="another process is writing to this file: end it"):
        make_page()


async def test_the_history_is_searched_and_leafed_through(make_page: MakePage):
    model = ScriptedModel(["The Seine [1]."])
    async with client(make_page(model)) as asking:
        for n in range(RUNS_LISTED + 2):
            await ask(asking, f"Which film has shark {n}?", action="direct")
        first, last = [
            (await asking.get("/api/runs", params={"page": page})).json() for page in (1, 2)
        ]
        assert first["total"] == last["total"] == RUNS_LISTED + 2
        assert first["runs"][0]["question"] == f"Which film has shark {RUNS_LISTED + 1}?"
        assert [each["question"][-2:] for each in last["runs"]] == ["1?", "0?"]
        for text, total in (("SHARK 0", 1), (" seine ", RUNS_LISTED + 2), ("Rhine", 0)):
            found = (await asking.get("/api/runs", params={"find": text})).json()
            assert (found["total"], len(found["runs"])) == (total, min(total, RUNS_LISTED))
        assert (await asking.get("/api/runs", params={"page": 0})).status_code == 422


async def test_what_measuring_costs_is_told_before(make_page: MakePage):
    async with client(make_page(collected=True)) as asking:
        foreseen = (await asking.get("/api/collect")).json()
    least, most = foreseen["calls"]
    assert least == 6  # directly, and one round, of each of the three questions
    assert most > least
    assert foreseen["sentence"].startswith(f"3 questions: {least} to {most} calls, ")


def test_the_passages_of_one_document_are_known_as_such():
    first, second, other = [
        document_of({"title": "Manual", "metadata": metadata})
        for metadata in (
            {"source": "/srv/a/manual.pdf", "page": 0, "page_label": "i"},
            {"source": "/srv/a/manual.pdf", "page": 7},
            {"source": "/srv/b/manual.pdf", "heading": "Manual: Oil"},
        )
    ]
    assert first["key"] == second["key"] != other["key"]
    assert {each["name"] for each in (first, second, other)} == {"manual.pdf"}
    places = [each["place"] for each in (first, second, other)]
    assert places == ["Manual, page i", "Manual, page 7", "Manual: Oil"]
    assert "srv" not in str([first, second, other])
    titled = document_of({"title": "Jaws", "metadata": {}})
    assert (titled["name"], titled["place"]) == ("Jaws", "")
