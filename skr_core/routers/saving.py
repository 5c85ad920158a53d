"""A router on disk: a folder with ``router.json`` and, for fitted ones, ``arrays.npz``.

An arbiter is saved in the same form, as ``arbiter.json`` and ``arbiter.npz``, and a reflector as
``reflector.json`` and ``reflector.npz``, so that one folder holds them all. Each file says of which
kind it is. The class of a kind is looked up in the registry: whatever a file says, only what an
installed package announces is ever imported for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from skr_core.errors import DataError, InputError, SKRError, StampMismatch
from skr_core.files import read_whole, replace_file
from skr_core.files.arrays import BROKEN, read_arrays, write_arrays
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.models.embedders import HASHING_NAME, SENTENCE_TRANSFORMERS, make_embedder
from skr_core.ports import Router
from skr_core.registry import names_of, registered, required
from skr_core.sync_only import SyncRouter
from skr_core.types import Stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skr_core.ports import Embedder, LanguageModel, Retriever

FORMAT = 2
ROUTER_FILE = "router.json"
ARRAYS_FILE = "arrays.npz"
ARBITER_FILE = "arbiter.json"
ARBITER_ARRAYS_FILE = "arbiter.npz"

Part = Literal["router", "arbiter", "reflector"]
"""What a folder holds, each at most once."""


@dataclass(frozen=True)
class SavedPart:
    """What a folder holds of a router, of an arbiter or of a reflector.

    Attributes:
        kind: The name that its class is announced by, see `skr_core.registry`.
        stamp: The names of what the router was made with: model, retriever, embedder, wording;
            for the embedder also its source and the version of its sparse form.
        parameters: The parameters, as plain values.
        arrays: The arrays that a fitted router has learnt.
        part: The part of a system that it is.
    """

    kind: str
    stamp: Mapping[str, str]
    parameters: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    part: Part = "router"

    @property
    def title(self) -> str:
        """What it is, for an error; of a router also of which kind."""
        return f"{self.kind} router" if self.part == "router" else self.part

    def write(self, path: str | Path) -> None:
        """Write the folder; the JSON file last and all at once, so that half a save is none."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        file, arrays = _files_of(self.part)
        digest = write_arrays(folder / arrays, self.arrays) if self.arrays else ""
        row = {
            "kind": self.kind,
            "version": FORMAT,
            "stamp": dict(self.stamp),
            "parameters": dict(self.parameters),
            "arrays": digest,
        }
        replace_file(
            folder / file,
            orjson.dumps(row, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
        )

    def embedder(self, given: Embedder | None = None, *, force: bool = False) -> Embedder:
        """Return the embedder by which the router compares questions: given, or made again.

        Args:
            given: The user's own, needed where the router was fitted with one.
            force: Whether the one given is taken although the router was fitted with another.

        Raises:
            InputError: It is an embedder that only the user can make.
            StampMismatch: The one given is another.

        Example:
            >>> SavedPart("knn", {"embedder": "hashing-1024-v1"}, {}).embedder().name
            'hashing-1024-v1'
        """
        name, source = self.stamp.get("embedder", ""), self.stamp.get("embedder_source", "")
        if given is None:
            if not source and name != HASHING_NAME:
                raise InputError(
                    f"this {self.title} compares questions by {name!r}, which cannot be "
                    "made here: give embedder="
                )
            given = make_embedder(source or name)
        self.check(force=force, embedder=given.name, embedder_form=form_of(given))
        return given

    @property
    def made_of(self) -> Stamp:
        """The stamp of the records it was made with."""
        return Stamp(**{each.name: self.stamp.get(each.name, "") for each in fields(Stamp)})

    def embedder_beside(
        self,
        model: LanguageModel | None,
        retriever: Retriever | None,
        given: Embedder | None,
        *,
        force: bool = False,
    ) -> Embedder:
        """Return `embedder`, once model and retriever are found to be those of the records.

        Raises:
            InputError: It is an embedder that only the user can make.
            StampMismatch: One of the three differs.
        """
        self.check(
            force=force,
            **({} if model is None else {"model": model.name}),
            **({} if retriever is None else {"retriever": retriever.name}),
        )
        return self.embedder(given, force=force)

    def check(self, *, force: bool = False, **current: str) -> None:
        """Refuse to work with other things than the router was made with.

        Args:
            force: Whether a difference is passed over.
            **current: The names now, by the stamp's keys; a key the stamp lacks is not compared.

        Raises:
            StampMismatch: A name differs.

        Example:
            >>> SavedPart("knn", {"embedder": "hashing"}, {}).check(embedder="minilm")
            Traceback (most recent call last):
            ...
            skr_core.errors.StampMismatch: this knn router was made with the embedder 'hashing', \
not 'minilm': use that embedder, make it anew, or load it with force=True
        """
        for name, now in current.items():
            made = self.stamp.get(name, "")
            if made and made != now and not force:
                raise StampMismatch(
                    f"this {self.title} was made with the {name} {made!r}, not {now!r}: "
                    f"use that {name.replace('_', ' ')}, make it anew, or load it with force=True"
                )


def read_saved(path: str | Path, part: Part = "router") -> SavedPart:
    """Read what a folder holds of a router, an arbiter or a reflector.

    Raises:
        InputError: There is none.
        DataError: Its files are broken, or of another format.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> folder = tempfile.mkdtemp()
        >>> SavedPart("knn", {}, {"k": 5}, {"vectors": np.eye(2)}).write(folder)
        >>> read_saved(folder).arrays["vectors"].shape
        (2, 2)
    """
    folder = Path(path)
    text, packed = _files_of(part)
    file = folder / text
    if not file.is_file():
        raise InputError(
            f"there is no saved {part} at {folder}, and none is registered by that name: give the "
            "folder that skr calibrate RECORDS --out FOLDER"
            f"{' --reflector' if part == 'reflector' else ''} wrote"
        )
    try:
        row = orjson.loads(read_whole(file))
        if row["version"] != FORMAT:
            raise DataError(
                file,
                None,
                f"this {part} has format {row['version']} and only {FORMAT} can be read: "
                "make it anew with skr calibrate",
            )
        return SavedPart(
            kind=str(row["kind"]),
            stamp={str(key): str(value) for key, value in row["stamp"].items()},
            parameters=dict(row["parameters"]),
            arrays=read_arrays(folder / packed, row["arrays"]) if row["arrays"] else {},
            part=part,
        )
    except DataError:
        raise
    except KeyError as error:
        raise DataError(file, None, f"this is not a saved {part}: it lacks {error}") from error
    except BROKEN as error:
        raise DataError(file, None, f"this is not a saved {part} ({error})") from error


def class_of(path: str | Path, saved: SavedPart) -> Any:
    """Import the class of what a folder holds, as an installed package announces it.

    Raises:
        DataError: No package announces that kind.
    """
    group = f"{saved.part}s"
    if saved.kind not in names_of(group):
        file = Path(path) / _files_of(saved.part)[0]
        raise DataError(file, None, f"no {saved.part} of kind {saved.kind!r} is known here")
    return registered(group, saved.kind)


def load_router(
    path: str | Path,
    *,
    model: AnyModel | None = None,
    retriever: Retriever | None = None,
    embedder: Embedder | None = None,
    force: bool = False,
) -> Router:
    """Load any router that was saved, or make one that an installed package registers by name.

    Args:
        path: The folder; or where there is none of that name, the name of a registered router that
            is made of nothing, or of the model alone.
        model: The model to ask, for routers that ask one.
        retriever: The retriever that will search; compared with what a fitted router was made with.
        embedder: The user's own, for routers that were fitted with one; others make theirs again.
        force: Whether it is loaded although it was made with another model, retriever, embedder or
            wording.

    Raises:
        InputError: There is no router, or it lacks the model or embedder it needs.
        DataError: Its files are broken, or no installed package announces its kind.
        StampMismatch: It was made with something else.

    Example:
        >>> import tempfile
        >>> from skr_core.routers import PromptRouter
        >>> from skr_core.testing import ScriptedModel
        >>> model, folder = ScriptedModel(["No."]), tempfile.mkdtemp()
        >>> PromptRouter(model).save(folder)
        >>> load_router(folder, model=model).decide("Who wrote Emma?").retrieve
        False
    """
    asked = None if model is None else as_language_model(model)
    if (named := registered_part("router", path, asked)) is not None:
        return named if isinstance(named, Router) else SyncRouter(named)
    saved = read_saved(path)
    found = class_of(path, saved)
    try:
        router: Router = found.load(
            path, model=asked, embedder=embedder, retriever=retriever, force=force
        )
    except SKRError:
        raise
    except BROKEN as error:
        file = Path(path) / ROUTER_FILE
        raise DataError(file, None, f"this is not a saved {saved.title} ({error})") from error
    return router


def registered_part(
    part: Literal["router", "reflector"], name: str | Path, model: LanguageModel | None
) -> Any:
    """Make what an installed package registers by a name: of nothing, or of the model alone.

    A folder of that name comes first.

    Returns:
        None where nothing is registered by that name, or there is such a folder.

    Raises:
        InputError: It needs a model that is not given, or something else.
    """
    group, name = f"{part}s", str(name)
    if Path(name).exists() or name not in names_of(group):
        return None
    made = registered(group, name)
    needed = required(made)
    if needed == ["model"] and model is None:
        raise InputError(f"the {part} {name!r} asks a model: give model=")
    if needed not in ([], ["model"]):
        raise InputError(
            f"the {part} {name!r} is made of {', '.join(needed)}: fit or make it first"
        )
    return made(model) if needed else made()


def holds_arbiter(path: str | Path) -> bool:
    """Say whether a folder holds an arbiter, beside a router or alone."""
    return (Path(path) / ARBITER_FILE).is_file()


def remove_arbiter(path: str | Path) -> None:
    """Take a folder's arbiter away, if it holds one; its router stays."""
    for name in (ARBITER_FILE, ARBITER_ARRAYS_FILE):
        (Path(path) / name).unlink(missing_ok=True)


def _files_of(part: Part) -> tuple[str, str]:
    """Return the names of the file of text and of that of arrays."""
    return (ROUTER_FILE, ARRAYS_FILE) if part == "router" else (f"{part}.json", f"{part}.npz")


def embedder_stamp(embedder: Embedder) -> dict[str, str]:
    """Return what a saved router has to know of its embedder.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> embedder_stamp(HashingEmbedder())
        {'embedder': 'hashing-1024-v1', 'embedder_form': 'ngrams-17-v1'}
    """
    stamp = {"embedder": embedder.name, "embedder_form": form_of(embedder)}
    if embedder.name.startswith(SENTENCE_TRANSFORMERS):
        source = str(getattr(embedder, "source", ""))
        # A folder is kept by its full path, because the next process may start elsewhere.
        stamp["embedder_source"] = str(Path(source).resolve()) if Path(source).is_dir() else source
    return {key: value for key, value in stamp.items() if value}


def form_of(embedder: Embedder) -> str:
    """Return the version of an embedder's sparse form; empty for one that has none."""
    return str(getattr(embedder, "sparse_name", ""))
