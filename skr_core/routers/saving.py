"""A router on disk: a folder with ``router.json`` and, for fitted ones, ``arrays.npz``.

An arbiter is saved in the same form, as ``arbiter.json`` and ``arbiter.npz``, and a learned
reflector as ``reflector.json`` and ``reflector.npz``, so that one folder holds them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from skr_core.errors import DataError, InputError, StampMismatch
from skr_core.files import read_whole, replace_file
from skr_core.files.arrays import BROKEN, read_arrays, write_arrays
from skr_core.models.embedders import HASHING_NAME, SENTENCE_TRANSFORMERS, make_embedder
from skr_core.types import Stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skr_core.ports import Embedder, LanguageModel, Retriever

ROUTER_FILE = "router.json"
ARRAYS_FILE = "arrays.npz"
FORMAT = 2
ARBITER, REFLECTOR = "arbiter", "reflector"
"""The kinds of what is saved beside a router, not in its place."""
LADDER = "ladder"
"""The kind of a router that is an arbiter too."""
ARBITER_FILE = "arbiter.json"
ARBITER_ARRAYS_FILE = "arbiter.npz"


@dataclass(frozen=True)
class SavedRouter:
    """What a folder holds of a router, of an arbiter or of a learned reflector.

    Attributes:
        kind: The name that its class is registered by; or `ARBITER` or `REFLECTOR`.
        stamp: Names of what the router was made with: model, retriever, embedder, wording;
            for the embedder also its source and the version of its sparse form.
        parameters: Plain values.
        arrays: What a fitted router has learnt.
    """

    kind: str
    stamp: Mapping[str, str]
    parameters: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """What it is, for an error."""
        named = self.kind in (ARBITER, REFLECTOR, LADDER)
        return self.kind if named else f"{self.kind} router"

    def write(self, path: str | Path) -> None:
        """Write the folder; the JSON file last and all at once, so that half a save is none."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        file, arrays = _files_of(self.kind)
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
        """The embedder by which the router compares questions: the one given, or made again.

        Args:
            given: The user's own, needed where the router was fitted with one.
            force: Take the one given although the router was fitted with another.

        Raises:
            InputError: It is an embedder that only the user can make.
            StampMismatch: The one given is another.

        Example:
            >>> SavedRouter("knn", {"embedder": "hashing-1024-v1"}, {}).embedder().name
            'hashing-1024-v1'
        """
        name, source = self.stamp.get("embedder", ""), self.stamp.get("embedder_source", "")
        if given is None:
            if not source and name != HASHING_NAME:
                raise InputError(
                    f"this {self.what} compares questions by {name!r}, which cannot be "
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
        """`embedder`, after another model or retriever than that of the records is refused.

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
            force: Let it pass.
            **current: Names now, by the stamp's keys; a key the stamp lacks is not compared.

        Raises:
            StampMismatch: A name differs.

        Example:
            >>> SavedRouter("knn", {"embedder": "hashing"}, {}).check(embedder="minilm")
            Traceback (most recent call last):
            ...
            skr_core.errors.StampMismatch: this knn router was made with the embedder 'hashing', \
not 'minilm': use that embedder, make it anew, or load it with force=True
        """
        for name, now in current.items():
            made = self.stamp.get(name, "")
            if made and made != now and not force:
                raise StampMismatch(
                    f"this {self.what} was made with the {name} {made!r}, not {now!r}: "
                    f"use that {name.replace('_', ' ')}, make it anew, or load it with force=True"
                )


def read_router(path: str | Path) -> SavedRouter:
    """Read a router's folder.

    Raises:
        InputError: There is no router.
        DataError: Its files are broken, or of another format.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> folder = tempfile.mkdtemp()
        >>> SavedRouter("knn", {}, {"k": 5}, {"vectors": np.eye(2)}).write(folder)
        >>> read_router(folder).arrays["vectors"].shape
        (2, 2)
    """
    return _read(Path(path), "router")


def read_arbiter(path: str | Path) -> SavedRouter:
    """Read what a folder holds of an arbiter.

    Raises:
        InputError: There is no arbiter.
        DataError: Its files are broken, or of another format.
    """
    return _read(Path(path), ARBITER)


def read_reflector(path: str | Path) -> SavedRouter:
    """Read what a folder holds of a learned reflector.

    Raises:
        InputError: There is no reflector.
        DataError: Its files are broken, or of another format.
    """
    return _read(Path(path), REFLECTOR)


def holds_arbiter(path: str | Path) -> bool:
    """Whether a folder holds an arbiter, beside a router or alone."""
    return (Path(path) / ARBITER_FILE).is_file()


def remove_arbiter(path: str | Path) -> None:
    """Take a folder's arbiter away, if it holds one; its router stays."""
    for name in (ARBITER_FILE, ARBITER_ARRAYS_FILE):
        (Path(path) / name).unlink(missing_ok=True)


def _files_of(kind: str) -> tuple[str, str]:
    """Of the text and of the arrays."""
    beside = kind in (ARBITER, REFLECTOR)
    return (f"{kind}.json", f"{kind}.npz") if beside else (ROUTER_FILE, ARRAYS_FILE)


def _read(folder: Path, what: str) -> SavedRouter:
    text, packed = _files_of(what)
    file = folder / text
    if not file.is_file():
        raise InputError(
            f"there is no saved {what} at {folder}: give the folder that skr calibrate RECORDS "
            f"--out FOLDER{' --reflector' if what == REFLECTOR else ''} wrote"
        )
    try:
        row = orjson.loads(read_whole(file))
        if row["version"] != FORMAT:
            raise DataError(
                file,
                None,
                f"this {what} has format {row['version']} and only {FORMAT} can be read: "
                "make it anew with skr calibrate",
            )
        return SavedRouter(
            kind=str(row["kind"]),
            stamp={str(key): str(value) for key, value in row["stamp"].items()},
            parameters=dict(row["parameters"]),
            arrays=read_arrays(folder / packed, row["arrays"]) if row["arrays"] else {},
        )
    except DataError:
        raise
    except KeyError as error:
        raise DataError(file, None, f"this is not a saved {what}: it lacks {error}") from error
    except BROKEN as error:
        raise DataError(file, None, f"this is not a saved {what} ({error})") from error


def embedder_stamp(embedder: Embedder) -> dict[str, str]:
    """What a saved router has to know of its embedder.

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
    """The version of an embedder's sparse form; empty for one that has none."""
    return str(getattr(embedder, "sparse_name", ""))
