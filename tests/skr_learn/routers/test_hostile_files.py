"""Whatever the file of a router that has learnt holds, it is loaded or refused in a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skr_core import SKRError, load_router
from skr_core.routers.saving import SavedRouter
from skr_learn.routers import ClassifierRouter, KNNRouter
from tests.skr_core.routers.test_hostile_files import changes
from tests.skr_learn.routers.facts import records

FITTED: dict[str, Callable[[], Any]] = {
    "knn": lambda: KNNRouter.fit(records(6)),
    "classifier": lambda: ClassifierRouter.fit(records(6)),
}


@pytest.fixture(scope="module", params=FITTED)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SavedRouter:
    path = tmp_path_factory.mktemp(request.param) / "router"
    FITTED[request.param]().save(path)
    load_router(path)
    return SavedRouter.read(path)


def test_any_parameter_is_loaded_or_refused_in_a_line(saved: SavedRouter, tmp_path: Path):
    told = []
    for changed in changes(dict(saved.parameters)):
        replace(saved, parameters=changed).write(tmp_path / "router")
        try:
            load_router(tmp_path / "router")
        except SKRError as error:
            told.append(str(error))
    assert told
    assert not [each for each in told if "\n" in each]


def test_any_array_is_loaded_or_refused_in_a_line(saved: SavedRouter, tmp_path: Path):
    told = []
    for name, array in saved.arrays.items():
        for wrong in (
            np.zeros((0,)),
            np.zeros((0, 0), array.dtype),
            array.reshape(-1)[:1],
            np.array("text"),
            np.full(array.shape, np.nan),
            array[..., None],
            None,
        ):
            changed = {**saved.arrays, name: wrong}
            if wrong is None:
                del changed[name]
            replace(saved, arrays=changed).write(tmp_path / "router")
            try:
                load_router(tmp_path / "router")
            except SKRError as error:
                told.append(str(error))
    assert told
    assert not [each for each in told if "\n" in each]
