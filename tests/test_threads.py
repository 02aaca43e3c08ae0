"""What threads must not change."""

from __future__ import annotations

from adjoin.threads import one_blas_thread


def _blas_threads() -> list[int]:
    from threadpoolctl import threadpool_info

    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_linear_algebra_has_one_thread_and_then_as_many_as_before() -> None:
    before = _blas_threads()
    assert before
    with one_blas_thread():
        assert set(_blas_threads()) == {1}
    assert _blas_threads() == before
