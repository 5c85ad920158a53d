"""The page's addresses: what a browser asks for, and what it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import Annotated, Any, Literal

from skr_app.web.access import Access, Guard
from skr_app.web.calibrating import Calibrating
from skr_app.web.documents import MOST_FILES, TAKEN, Documents
from skr_app.web.runs import ServedSystem
from skr_app.web.streaming import EventStream, line_of, shown
from skr_core.errors import InputError, SKRError, extra
from skr_core.files import json_line
from skr_learn.figures import variables

with extra("cli"):
    from fastapi import APIRouter, FastAPI, Form, Query, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
    from fastapi.staticfiles import StaticFiles
    from pydantic import BaseModel, Field
    from starlette.datastructures import UploadFile
    from starlette.exceptions import HTTPException
    from starlette.types import ASGIApp

STATIC = str(files("skr_app") / "web" / "static")
LONGEST_QUESTION = 8_000


class Asked(BaseModel):
    """A question, with the conversation that it belongs to and the way it is to be answered."""

    question: str = Field(min_length=1, max_length=LONGEST_QUESTION)
    conversation: str | None = Field(None, max_length=64)
    action: Literal["direct", "single", "loop"] | None = None


class Vote(BaseModel):
    """A person's judgement of an answer, and the right one; None takes it back."""

    right: bool | None
    answer: str = Field("", max_length=500)


@dataclass(frozen=True)
class Page:
    """The parts of the page.

    Attributes:
        system: The system that answers.
        calibrating: Makes records of votes, and a router of records.
        documents: Lists, takes in and removes documents.
        about: Further facts about the system: the names of its parts, examples to ask.
    """

    system: ServedSystem
    calibrating: Calibrating
    documents: Documents
    about: Mapping[str, Any]


def create_app(page: Page, access: Access) -> ASGIApp:
    """The page as an application for any ASGI server.

    Args:
        page: The parts of the page.
        access: The access that a request needs.
    """
    app = FastAPI(title="skr", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(_files(access))
    app.include_router(_questions(page.system), prefix="/api")
    app.include_router(_routing(page.calibrating), prefix="/api")
    app.include_router(_documents(page), prefix="/api")
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_exception_handler(SKRError, _failed)
    app.add_exception_handler(Exception, _failed)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _refused)
    return Guard(app, access)


def _files(access: Access) -> APIRouter:
    routes = APIRouter()
    gate = Template((files("skr_app") / "web" / "token.html").read_text(encoding="utf-8"))

    @routes.get("/")
    async def index() -> FileResponse:
        return FileResponse(f"{STATIC}/index.html")

    @routes.get("/token")
    async def token() -> HTMLResponse:
        return HTMLResponse(gate.substitute(heading="This page needs its token"))

    @routes.post("/token")
    async def enter(token: Annotated[str, Form(max_length=500)]) -> Response:
        if not access.admits(token):
            return HTMLResponse(gate.substitute(heading="This is not the token"), status_code=401)
        return access.welcome()

    @routes.get("/static/colours.css")
    async def colours() -> Response:
        light, dark = variables(), variables(dark=True)
        style = (
            f":root, :root[data-theme=light] {{ color-scheme: light; {light} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n"
            f":root[data-theme=light] {{ color-scheme: light; {light} }}\n"
            f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}\n"
        )
        return Response(style, media_type="text/css")

    return routes


def _questions(system: ServedSystem) -> APIRouter:
    routes = APIRouter()

    @routes.post("/questions")
    async def ask(asked: Asked) -> EventStream:
        return EventStream(system.ask(asked.question, asked.conversation, asked.action))

    @routes.get("/runs")
    def runs(
        find: Annotated[str, Query(max_length=200)] = "", page: Annotated[int, Query(ge=1)] = 1
    ) -> JSONResponse:
        return JSONResponse(shown(system.runs.find(find, page)))

    @routes.get("/runs/{key}")
    async def run(key: str) -> JSONResponse:
        return JSONResponse(shown(system.runs.one(key)))

    @routes.get("/conversations/{key}")
    async def conversation(key: str) -> JSONResponse:
        return JSONResponse(shown(system.runs.conversation(key)))

    @routes.put("/runs/{key}/vote")
    async def vote(key: str, vote: Vote) -> JSONResponse:
        await system.runs.vote(key, vote.right, vote.answer)
        return JSONResponse({"right": vote.right})

    @routes.get("/questions")
    async def questions() -> Response:
        lines = b"".join(map(json_line, system.runs.questions()))
        name = {"Content-Disposition": 'attachment; filename="questions.jsonl"'}
        return Response(lines, headers=name, media_type="application/x-ndjson")

    return routes


def _routing(calibrating: Calibrating) -> APIRouter:
    routes = APIRouter()

    @routes.get("/router")
    def router() -> JSONResponse:
        return JSONResponse(shown(calibrating.facts()))

    @routes.get("/collect")
    async def foreseen() -> JSONResponse:
        return JSONResponse(await calibrating.foreseen())

    @routes.post("/collect")
    async def collect() -> EventStream:
        return EventStream(calibrating.collect())

    @routes.post("/calibrate")
    async def calibrate() -> EventStream:
        return EventStream(calibrating.calibrate())

    return routes


def _documents(page: Page) -> APIRouter:
    routes = APIRouter()

    @routes.get("/system")
    async def system() -> JSONResponse:
        settings = page.system.settings
        about = {
            **page.about,
            "model": settings.model.name,
            # How many passages a retriever of one's own searches is not known.
            "references": await asyncio.to_thread(page.system.store.count)
            if page.documents.is_searched
            else None,
            "kinds": TAKEN,
            "longest_question": LONGEST_QUESTION,
        }
        return JSONResponse(shown(about))

    @routes.get("/documents")
    def documents(find: Annotated[str, Query(max_length=200)] = "") -> JSONResponse:
        return JSONResponse(shown(page.documents.find(find)))

    @routes.delete("/documents/{key}")
    def remove(key: str) -> JSONResponse:
        return JSONResponse({"removed": page.documents.remove(key)})

    @routes.get("/uploads")
    async def uploads() -> JSONResponse:
        return JSONResponse(shown([asdict(each) for each in page.documents.uploads()]))

    @routes.post("/documents")
    async def upload(request: Request) -> JSONResponse:
        async with request.form(max_files=MOST_FILES, max_fields=0) as form:
            given = [each for each in form.getlist("files") if isinstance(each, UploadFile)]
            await run_in_threadpool(page.documents.add, given)
        return JSONResponse({"uploaded": len(given)}, HTTPStatus.ACCEPTED)

    return routes


async def _failed(_: Request, error: Exception) -> JSONResponse:
    status = 400 if isinstance(error, InputError) else 500
    return JSONResponse({"error": shown(line_of(error))}, status)


async def _refused(_: Request, error: Any) -> JSONResponse:
    return JSONResponse({"error": str(error.detail).lower()}, error.status_code)


async def _not_understood(_: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    place = ".".join(str(each) for each in first["loc"][1:])
    return JSONResponse({"error": shown(f"{place}: {first['msg']}".removeprefix(": "))}, 422)
