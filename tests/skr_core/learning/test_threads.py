"""BLAS uses one thread inside the block, and as many as before after it."""

import scipy.linalg  # noqa: F401  # brings a BLAS of its own
from threadpoolctl import threadpool_info

from skr_core.learning.threads import one_thread


def threads() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_one_thread_inside_and_as_many_as_before_after() -> None:
    before = threads()
    assert before
    for _ in range(2):
        with one_thread():
            with one_thread():
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert threads() == before
