"""A request to stop a session: after the running trials, or at once."""

from __future__ import annotations

from collections.abc import Callable


class Stop:
    """A request to stop: after the running trials (the first request), or at once (the second)."""

    def __init__(self, abandon: Callable[[], None] = lambda: None) -> None:
        """Sets the function `abandon`, which ends the running trials; a session sets its own."""
        self.abandon = abandon
        """Ends the running trials. It may be called in a signal handler."""
        self._requests = 0

    @property
    def wanted(self) -> bool:
        """Returns whether no further trials are to be started."""
        return self._requests > 0

    @property
    def at_once(self) -> bool:
        """Returns whether the running trials were abandoned."""
        return self._requests > 1

    def request(self) -> None:
        """Requests to stop; a second request abandons the running trials. May be called in a signal handler,
        or in another thread."""
        self._requests += 1
        if self.at_once:
            self.abandon()
