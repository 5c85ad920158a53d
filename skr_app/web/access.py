"""Who may speak to the page: its own browser tab, and whoever has the token.

A page that listens on this machine can be spoken to by every page that its user has open. So a
request must name this machine as its host (another name may have been turned to it: DNS rebinding),
must not come from another origin, and what the page answers runs no script but its own.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from skr_core.errors import InputError, extra

with extra("cli"):
    from starlette.datastructures import Headers, MutableHeaders, QueryParams
    from starlette.requests import cookie_parser
    from starlette.responses import JSONResponse, RedirectResponse, Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHORTEST_TOKEN = 16
LARGEST_BODY = 64_000
"""Bytes of a request that uploads nothing, at most."""
UPLOADS = "/api/documents"
LARGEST_UPLOAD = 50_000_000
"""Bytes of one upload, at most, all of its files together."""

_SAFE = ("GET", "HEAD")
_OPEN = ("/static/", "/token")
"""Paths that are open without a token: the page that asks for it, and its looks."""
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, a form of the page's own has no origin either
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """What a request needs to be answered.

    Attributes:
        token: The token that it has to bring, in a cookie or as ``Authorization: Bearer``; None
            lets every program and every user of this machine ask.
        names: The names of this machine, beside ``localhost``; an address in figures is always one.
        cookie: The name of the token's cookie; other servers of this machine share its cookies.
    """

    token: str | None = None
    names: frozenset[str] = frozenset()
    cookie: str = "skr_token"

    @classmethod
    def of(
        cls, host: str, port: int, token: str | None = None, *, no_token: bool = False
    ) -> Access:
        """The access to a page that is served at an address.

        Args:
            host: The host that the page listens at.
            port: The port that it listens at.
            token: The user's own token; one is made where none is given.
            no_token: Need no token, which only a page can that this machine alone reaches.

        Raises:
            InputError: The token can be guessed, or others could ask without one.

        Example:
            >>> len(Access.of("127.0.0.1", 8010).token or "")
            43
            >>> Access.of("127.0.0.1", 8010, no_token=True).token is None
            True
        """
        if token is not None and (len(token) < SHORTEST_TOKEN or not _is_token(token)):
            raise InputError(
                f"--token needs {SHORTEST_TOKEN} characters or more, all visible ones of ASCII"
            )
        if no_token and token is not None:
            raise InputError("give either a token (--token, SKR_TOKEN) or --no-token")
        if no_token and not _is_loopback(host):
            raise InputError(f"--no-token: others can reach a page at {host}, which needs a token")
        if token is None and not no_token:
            token = secrets.token_urlsafe(32)
        names = {host.lower(), socket.gethostname().lower()}
        return cls(token, frozenset(names), f"skr_token_{port}")

    def knows(self, host: str) -> bool:
        """Whether a request's ``Host`` is this machine.

        Example:
            >>> access = Access()
            >>> access.knows("localhost:8010"), access.knows("[::1]:8010"), access.knows("a.test")
            (True, True, False)
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name == "localhost" or _is_address(name) or name in self.names

    def admits(self, given: str | None) -> bool:
        """Whether a token is the right one, compared in constant time."""
        if self.token is None:
            return True
        return hmac.compare_digest((given or "").encode(), self.token.encode())

    @property
    def query(self) -> str:
        """What stands behind the address that opens the page."""
        return "" if self.token is None else f"?token={quote(self.token, safe='')}"

    def welcome(self) -> Response:
        """A redirection to the page, with the token in a cookie that other pages cannot send."""
        response = RedirectResponse("/", 303)
        if self.token is not None:
            response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        return response


class Guard:
    """Refuses requests before they are read, and says what a browser may do with answers.

    Args:
        app: The application that answers the requests that may pass.
        access: The access that a request needs.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it with one line."""
        if scope["type"] != "http":
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer: ASGIApp | None = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if answer is None:
            answer = self._entrance(scope)
        await answer(scope, receive, protected)

    def _refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.access.knows(host):
            return _refused(421, f"this page is not served as {host!r}: open it by its address")
        if origin is not None and urlsplit(origin).netloc != host:
            return _refused(403, "this request comes from another page")
        navigates = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if foreign and not (navigates and path == "/"):
            return _refused(403, "this request comes from another page")
        if method in _SAFE:
            return None
        length = headers.get("content-length", "")
        if not length.isdecimal():
            return _refused(411, "this request does not say how long it is")
        most = LARGEST_UPLOAD if path == UPLOADS else LARGEST_BODY
        if int(length) > most:
            return _refused(413, f"this is more than {most // 1000:,} kB")
        return None

    def _has_token(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.access.admits(given.strip()):
            return True
        # Other servers of this machine share its cookies, and may have set what is none.
        return self.access.admits(cookie_parser(headers.get("cookie", "")).get(self.access.cookie))

    def _entrance(self, scope: Scope) -> ASGIApp:
        """The page to whoever has the token, to others the one that asks for it."""
        path, given = scope["path"], QueryParams(scope["query_string"]).get("token")
        if path == "/" and given is not None and self.access.admits(given):
            return self.access.welcome()
        if path.startswith(_OPEN) or self._has_token(scope):
            return self.app
        if path == "/":
            return RedirectResponse("/token", 303)
        return _refused(401, "this page needs its token: open the address that skr serve printed")


def _refused(status: int, line: str) -> Response:
    return JSONResponse({"error": line}, status)


def _is_token(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
