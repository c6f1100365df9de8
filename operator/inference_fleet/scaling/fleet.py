"""A fleet that only exists in time: replicas load for a while, then serve or stand by."""

from collections import deque


class Fleet:
    """Replicas that are up, and the moments at which those on their way will be."""

    def __init__(self, up: int, cold_start: float) -> None:
        self.up = up
        self._cold_start = cold_start
        self._loading: deque[float] = deque()

    @property
    def loading(self) -> int:
        """Replicas that are paid for and cannot serve yet."""
        return len(self._loading)

    def scale(self, now: float, replicas: int) -> None:
        """Let what has loaded be up, then start what is missing, or give back: what still loads goes first."""
        while self._loading and self._loading[0] <= now:
            self._loading.popleft()
            self.up += 1
        missing = replicas - self.up - self.loading
        if missing > 0:
            self._loading.extend([now + self._cold_start] * missing)
        while missing < 0 and self._loading:
            self._loading.pop()
            missing += 1
        self.up += min(missing, 0)
