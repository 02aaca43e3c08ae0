"""Who does the work of a discovery: threads here, or the workers of a cluster.

Either way the work is a function of a module and its arguments, and comes back in the same order
with the same result. Receives such calls from `scan`, `second_look`, `posteriors` and `work`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from adjoin.cluster.executor import give_up, share
from adjoin.cluster.worker import timed
from adjoin.threads import add_cpu_seconds, n_workers

_MOST_AWAY = 32  # calls that are waited for at a time: the cluster has its own queue

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """How many work at a time here, or what hands the work to others."""

    n_jobs: int | None = None
    executor: Executor | None = None
    _shared: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    def share(self, value: Any) -> Any:
        """What to call with in the place of a value that many calls have in common."""
        if id(value) not in self._shared:  # kept with the value: no other gets its number
            self._shared[id(value)] = value, share(self.executor, value)
        return self._shared[id(value)][1]

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function, and count its CPU seconds for this thread."""
        if self.executor is None:
            return function(*arguments)
        result, seconds = self.executor.submit(timed, function, *arguments).result()
        add_cpu_seconds(seconds)
        return result

    def each(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], name: str
    ) -> Iterator[Result]:
        """What a function of this process, which may `call`, makes of all tasks, in their order."""
        most = _MOST_AWAY if self.executor is not None else self.n_jobs
        with ThreadPoolExecutor(n_workers(most, len(tasks)), f"adjoin-{name}") as pool:
            try:
                yield from pool.map(function, tasks)
            except (Exception, KeyboardInterrupt):
                give_up(self.executor)  # else Ctrl-C waits for all that is away
                raise
