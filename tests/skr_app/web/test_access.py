"""Who may ask the page anything, and what a browser is told to do with what it answers."""

from __future__ import annotations

import socket
from contextlib import suppress
from http import HTTPStatus

import httpx
import pytest

from skr_app.web import LARGEST_BODY, Access, create_app
from skr_core.errors import InputError
from tests.skr_app.web.conftest import pages, serving

TOKEN = "correct-horse-battery"
OPEN = Access.of("127.0.0.1", 8010, no_token=True)


def client(page, access: Access, host: str = "127.0.0.1:8010") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=create_app(page, access))
    return httpx.AsyncClient(transport=transport, base_url=f"http://{host}")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory):
    with pages(tmp_path_factory.mktemp("page")) as make:
        yield make()


def test_a_token_is_made_and_left_out_on_this_machine_alone():
    hosts = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.5")
    tokens = {Access.of(host, 8010).token or "" for host in hosts}
    assert len(tokens) == len(hosts)
    assert min(map(len, tokens)) >= 40
    for host in hosts[:3]:
        assert Access.of(host, 8010, no_token=True).token is None
    for host in hosts[3:]:
        with pytest.raises(InputError, match="others can reach a page at"):
            Access.of(host, 8010, no_token=True)
    with pytest.raises(InputError, match="either a token"):
        Access.of("127.0.0.1", 8010, TOKEN, no_token=True)


def test_the_address_opens_with_whatever_is_a_token():
    access = Access.of("127.0.0.1", 8010, "a+b/c&d=e%20#f?g")
    assert access.query == "?token=a%2Bb%2Fc%26d%3De%2520%23f%3Fg"
    assert Access().query == ""


def test_a_token_that_can_be_guessed_is_refused():
    for guessed in (
        "secret",
        "",
        "correct horse battery",
        "corr\u00e8ct-horse-battery",
        "x" * 16 + "\n",
    ):
        with pytest.raises(InputError, match="16 characters"):
            Access.of("0.0.0.0", 8010, guessed)


@pytest.mark.parametrize(
    "host", ["attacker.test:8010", "attacker.test", "127.0.0.1.attacker.test", "localhost.test", ""]
)
async def test_a_name_turned_to_this_machine_is_refused(page, host: str):
    async with client(page, OPEN) as asking:
        answer = await asking.get("/api/system", headers={"host": host})
        assert answer.status_code == HTTPStatus.MISDIRECTED_REQUEST
        assert "model" not in answer.text


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:8010", "[::1]:8010"])
async def test_this_machine_has_several_names(page, host: str):
    async with client(page, OPEN) as asking:
        assert (await asking.get("/api/system", headers={"host": host})).status_code == 200


FOREIGN = [
    {"origin": "http://attacker.test"},
    {"origin": "http://127.0.0.1:3000"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/api/questions", "/api/calibrate", "/api/documents", "/token"])
async def test_other_pages_cannot_write(page, headers: dict[str, str], path: str):
    async with client(page, OPEN) as asking:
        answer = await asking.post(path, json={"question": "Who?"}, headers=headers)
        assert answer.status_code == HTTPStatus.FORBIDDEN
        assert answer.json() == {"error": "this request comes from another page"}


@pytest.mark.parametrize("headers", FOREIGN)
async def test_other_pages_cannot_remove(page, headers: dict[str, str]):
    async with client(page, OPEN) as asking:
        [document] = (await asking.get("/api/documents")).json()["documents"]
        path = f"/api/documents/{document['id']}"
        answer = await asking.request("DELETE", path, json={}, headers=headers)
        assert answer.status_code == HTTPStatus.FORBIDDEN
        assert (await asking.get("/api/documents")).json()["total"] == 1
    async with client(page, Access.of("0.0.0.0", 8010, TOKEN)) as asking:
        assert (await asking.request("DELETE", path, json={})).status_code == 401


@pytest.mark.parametrize("headers", FOREIGN)
async def test_other_pages_cannot_read(page, headers: dict[str, str]):
    async with client(page, OPEN) as asking:
        for path in ("/api/runs", "/static/main.js"):
            answer = await asking.get(path, headers=headers)
            assert answer.status_code == HTTPStatus.FORBIDDEN


async def test_a_link_from_elsewhere_opens_the_page(page):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    async with client(page, OPEN) as asking:
        assert (await asking.get("/", headers=link)).status_code == 200
        assert (await asking.get("/api/runs", headers=link)).status_code == 403


async def test_its_own_tab_may_ask(page):
    own = {"origin": "http://127.0.0.1:8010", "sec-fetch-site": "same-origin"}
    async with client(page, OPEN) as asking:
        answer = await asking.put("/api/runs/none/vote", json={"right": True}, headers=own)
        assert answer.status_code == HTTPStatus.BAD_REQUEST
        assert "no such run" in answer.json()["error"]


async def test_without_the_token_nothing_is_told(page):
    access = Access.of("0.0.0.0", 8010, TOKEN)
    async with client(page, access) as asking:
        for path in ("/api/system", "/api/runs", "/api/router", "/no-such"):
            answer = await asking.get(path)
            assert answer.status_code == HTTPStatus.UNAUTHORIZED
            assert "token" in answer.json()["error"]
        assert (await asking.post("/api/calibrate", json={})).status_code == 401
        index = await asking.get("/")
        assert (index.status_code, index.headers["location"]) == (303, "/token")
        assert "Token" in (await asking.get("/token")).text
        for wrong in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            answer = await asking.get("/api/system", headers={"authorization": wrong})
            assert answer.status_code == HTTPStatus.UNAUTHORIZED


async def test_the_token_opens_by_header_by_address_and_by_form(page):
    access = Access.of("0.0.0.0", 8010, TOKEN)
    async with client(page, access) as asking:
        by_header = {"authorization": f"Bearer {TOKEN}"}
        assert (await asking.get("/api/system", headers=by_header)).status_code == 200
        assert (await asking.get("/", params={"token": "wrong"})).headers["location"] == "/token"
        wrong = await asking.post("/token", data={"token": "wrong"})
        assert wrong.status_code == HTTPStatus.UNAUTHORIZED
        assert not asking.cookies
        opened = await asking.get("/", params={"token": TOKEN})
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        kept = opened.headers["set-cookie"].lower()
        assert "httponly" in kept
        assert "samesite=strict" in kept
        assert "skr_token_8010=" in kept
        assert (await asking.get("/api/system")).status_code == 200
    async with client(page, access) as asking:
        entered = await asking.post("/token", data={"token": TOKEN})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert (await asking.get("/api/system")).status_code == 200


async def test_a_browser_runs_nothing_but_the_pages_own_scripts(page):
    async with client(page, OPEN) as asking:
        for path in ("/", "/static/main.js", "/api/system", "/no-such"):
            headers = (await asking.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert "access-control-allow-origin" not in headers
        index = (await asking.get("/")).text
        assert "<style" not in index
        assert " style=" not in index
        assert " onclick=" not in index
        assert "http" not in index.replace("https://", "http://").split("<body>")[0]


async def test_what_is_too_long_is_refused_before_it_is_read(page):
    async with client(page, OPEN) as asking:
        long = await asking.post("/api/questions", content=b"x" * (LARGEST_BODY + 1))
        assert long.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE

        async def endless():
            yield b"x"

        unmeasured = await asking.post("/api/questions", content=endless())
        assert unmeasured.status_code == HTTPStatus.LENGTH_REQUIRED


async def test_cookies_of_other_servers_keep_nobody_out(page):
    access = Access.of("127.0.0.1", 8010, TOKEN)
    own = f"skr_token_8010={TOKEN}"
    for others in ('prefs={"a": [1, 2]}', "a=b; =; ;;", "x=\xe9\xff", "skr_token_9000=other"):
        for cookies in (f"{others}; {own}", f"{own}; {others}"):
            async with client(page, access) as asking:
                given = {"cookie": cookies.encode("latin-1")}
                assert (await asking.get("/api/system", headers=given)).status_code == 200


WRONG = [
    *(b"", b" ", b"wrong", b"None", b"null", b"*", b"%", b"%00", b"%ff%fe", b"\xff\xfe"),
    *("\u71c8".encode() * 40, "\U0001f4a1".encode(), b"%f0%9f%92%a1", b"a" * 50_000, b"x" * 70_000),
    *(TOKEN[:-1].encode(), f"{TOKEN}x".encode(), TOKEN.upper().encode(), f"{TOKEN}%00".encode()),
    *(b'"', b'"\\', b"a\tb", b"\x00", b"%0d%0aSet-Cookie:%20a=b", b"'; DROP TABLE"),
]
DOORS = {
    "address": b"GET /?token=%s HTTP/1.1\r\n",
    "address, twice": b"GET /?token=x&token=%s HTTP/1.1\r\n",
    "header": b"GET /api/runs HTTP/1.1\r\nauthorization: Bearer %s\r\n",
    "header, alone": b"GET /api/runs HTTP/1.1\r\nauthorization: %s\r\n",
    "header, twice": b"GET /api/runs HTTP/1.1\r\nauthorization: x\r\nauthorization: bearer %s\r\n",
    "cookie": b"GET /api/runs HTTP/1.1\r\ncookie: NAME=%s\r\n",
    "cookie, twice": b"GET /api/runs HTTP/1.1\r\ncookie: NAME=x; NAME=%s\r\n",
}


@pytest.mark.integration
def test_no_raw_request_opens_the_page_without_its_token(page, caplog):
    """Of some 170 requests none is answered but by a refusal, and none breaks anything."""
    with serving(page, TOKEN) as url:
        port = int(url.rpartition(":")[2])

        def told(request: bytes) -> bytes:
            with socket.create_connection(("127.0.0.1", port), 60) as asking:
                with suppress(ConnectionError):  # refused before it was sent to its end
                    asking.sendall(request)
                return asking.recv(65_536)

        def status_of(door: bytes, given: bytes) -> int:
            line = door.replace(b"NAME", b"skr_token_%d" % port).replace(b"%s", given)
            answer = told(line + b"host: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert b"set-cookie" not in answer
            return int(answer.split()[1])

        for name, door in DOORS.items():
            found = [status_of(door, given) for given in WRONG]
            assert set(found) <= {303, 400, 401, 431}, (name, found)
        form = b"POST /token HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        for given in (b"token=x", b"token=%ff", b"", b"token=", b"token=a&token=b", b"\xff=\xff"):
            length = b"content-length: %d\r\nhost: localhost\r\n\r\n" % len(given)
            assert int(told(form + length + given).split()[1]) in (401, 422)
        assert status_of(DOORS["header"], TOKEN.encode()) == 200
        assert status_of(DOORS["cookie"], TOKEN.encode()) == 200
    assert caplog.messages == []
