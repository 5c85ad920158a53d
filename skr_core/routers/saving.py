"""A saved router: one file, a zip of ``router.json`` and one plain array a member.

What is read of it and by whom: `skr_core.routers.loading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skr_core.errors import DataError, InputError, SKRError, StampMismatch, tell_once
from skr_core.files.arrays import BROKEN, read_archive, write_archive
from skr_core.models.embedders import HASHING_NAME, SENTENCE_TRANSFORMERS, make_embedder
from skr_core.types import Stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skr_core.ports import Embedder, LanguageModel, Retriever

FORMAT = 1
TEXT = "router.json"

_PASSED_OVER = re.compile(
    r"[-@](?:\d{4}-\d\d-\d\d|\d{8}|\d{4}|latest)(?![^:])"  # gpt-4.1-2025-04-14 beside gpt-4.1
    r"|:k=\d+"  # the store's own search
)
"""What may differ in the names of a model or a retriever: it is told, and not refused."""


@dataclass(frozen=True)
class SavedRouter:
    """What a file holds of a router.

    Attributes:
        kind: The name that its class is registered by, see `skr_core.registry`.
        parameters: The parameters, as plain JSON values.
        arrays: The arrays that it has learnt.
        stamp: The system whose records it was made with.
        embedder: The name of its embedder and where it comes from, as `embedder_stamp` says them;
            empty for a router without one.
        questions: Short hashes of the keys of the questions that it has learnt from.
        path: The file that it was read from.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> path = Path(tempfile.mkdtemp(), "router")
        >>> SavedRouter("knn", {"k": 5}, {"vectors": np.eye(2)}).write(path)
        >>> SavedRouter.read(path).arrays["vectors"].shape
        (2, 2)
    """

    kind: str
    parameters: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    stamp: Stamp = Stamp()
    embedder: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[str, ...] = ()
    path: Path | None = field(default=None, compare=False)

    def write(self, path: str | Path) -> None:
        """Write the file, which takes the place of another as a whole.

        Raises:
            InputError: A parameter is no plain JSON value, an array holds objects, or the file
                cannot be written.
        """
        row = {
            "format": FORMAT,
            "kind": self.kind,
            "stamp": asdict(self.stamp),
            "embedder": dict(self.embedder),
            "parameters": dict(self.parameters),
            "questions": list(self.questions),
            "arrays": sorted(self.arrays),
        }
        write_archive(Path(path), TEXT, row, self.arrays)

    @classmethod
    def read(cls, path: str | Path | SavedRouter, kind: str = "") -> SavedRouter:
        """Read a file into memory, and close it.

        Args:
            path: The file, or what was read of it already.
            kind: The kind that it must be of; any where it is empty.

        Raises:
            InputError: There is none, or it is of another kind.
            DataError: It is broken, or of another format.
        """
        saved = path if isinstance(path, SavedRouter) else _read(Path(path))
        if kind and saved.kind != kind:
            raise InputError(f"{saved.path} holds the router {saved.kind!r}, not {kind!r}")
        return saved

    @contextmanager
    def unpacking(self) -> Iterator[None]:
        """Say of an error within that the file is broken.

        Raises:
            DataError: A parameter or an array is missing, or not what it should be.
        """
        try:
            yield
        except SKRError:
            raise
        except BROKEN as error:
            said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            problem = f"this is no saved {self.kind} router ({' '.join(said.split())[:200]})"
            raise DataError(self.path or self.kind, None, problem) from error

    def embedder_beside(
        self,
        model: LanguageModel | None,
        retriever: Retriever | None,
        embedder: Embedder | None,
        *,
        force: bool = False,
    ) -> Embedder | None:
        """Return the embedder to use, once model and retriever are found to be those of the stamp.

        Args:
            model: The model that will answer; None is not compared.
            retriever: The retriever that will search; None is not compared.
            embedder: The user's own, needed where the router was made with one that only the user
                can make; others are made again.
            force: Whether differences are passed over.

        Returns:
            None where the router uses none.

        Raises:
            InputError: It is an embedder that only the user can make.
            StampMismatch: One of the three differs.

        Example:
            >>> saved = SavedRouter("knn", {}, embedder={"name": "hashing-1024-v1"})
            >>> saved.embedder_beside(None, None, None).name
            'hashing-1024-v1'
        """
        self.check(model, retriever, force=force)
        name, source = self.embedder.get("name", ""), self.embedder.get("source", "")
        if not name:
            return None
        if embedder is None:
            if not source and name != HASHING_NAME:
                raise InputError(
                    f"this {self.kind} router compares questions by {name!r}, which cannot be "
                    "made here: give embedder="
                )
            embedder = make_embedder(source or name)
        if not force:
            self._compare("embedder", name, embedder.name)
        return embedder

    def check(
        self,
        model: LanguageModel | None = None,
        retriever: Retriever | None = None,
        *,
        force: bool = False,
    ) -> None:
        """Refuse to work with another model or retriever than the router was made with.

        Args:
            model: The model that will answer; None is not compared.
            retriever: The retriever that will search; None is not compared.
            force: Whether a difference is passed over.

        Raises:
            StampMismatch: A name differs.

        Example:
            >>> from skr_core.testing import ScriptedModel
            >>> saved = SavedRouter("knn", {}, stamp=Stamp(model="small"))
            >>> saved.check(ScriptedModel(name="large"))
            Traceback (most recent call last):
            ...
            skr_core.errors.StampMismatch: this knn router was made with the model 'small', \
not 'large': use that model, make it anew, or load it with force=True
        """
        if model is not None and not force:
            self._compare("model", self.stamp.model, model.name)
        if retriever is not None and not force:
            self._compare("retriever", self.stamp.retriever, retriever.name)

    def _compare(self, what: str, made: str, now: str) -> None:
        if made and made != now:
            if _PASSED_OVER.sub("", made) == _PASSED_OVER.sub("", now):
                tell_once(f"this {self.kind} router was made with the {what} {made!r}, not {now!r}")
                return
            raise StampMismatch(
                f"this {self.kind} router was made with the {what} {made!r}, not {now!r}: "
                f"use that {what}, make it anew, or load it with force=True"
            )


def _read(path: Path) -> SavedRouter:
    if not path.exists():
        raise InputError(
            f"there is no saved router or reflector at {path}, and none is registered by that "
            "name: give the file that skr calibrate RECORDS --out FILE wrote"
        )
    row, arrays = read_archive(path, TEXT)
    saved = SavedRouter(str(row.get("kind", "")), {}, arrays, path=path)
    if row.get("format") != FORMAT:
        problem = f"this router has format {row.get('format')} and only {FORMAT} can be read"
        raise DataError(path, None, f"{problem}: make it anew with skr calibrate")
    with saved.unpacking():
        if row["arrays"] != sorted(arrays):
            raise ValueError("its arrays are not those that were saved")
        return replace(
            saved,
            parameters=dict(row["parameters"]),
            stamp=Stamp(**{name: str(value) for name, value in row["stamp"].items()}),
            embedder={str(key): str(value) for key, value in row["embedder"].items()},
            questions=tuple(str(each) for each in row["questions"]),
        )


def embedder_stamp(embedder: Embedder) -> dict[str, str]:
    """Return what a saved router has to know of its embedder.

    Example:
        >>> from skr_core.models.embedders import HashingEmbedder
        >>> embedder_stamp(HashingEmbedder())
        {'name': 'hashing-1024-v1'}
    """
    stamp = {"name": embedder.name}
    if embedder.name.startswith(SENTENCE_TRANSFORMERS):
        source = str(getattr(embedder, "source", ""))
        # A folder is kept by its full path, because the next process may start elsewhere.
        stamp["source"] = str(Path(source).resolve()) if Path(source).is_dir() else source
    return {key: value for key, value in stamp.items() if value}
