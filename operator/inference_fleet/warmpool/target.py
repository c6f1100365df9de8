"""How many loaded standby replicas a pool keeps."""

DEFAULT_PERCENT = 25
DEFAULT_MIN = 0


def warm_target(serving: int, percent: int | None = None, minimum: int | None = None) -> int:
    """Standby replicas beside `serving` ones: ceil(percent x serving / 100), at least `minimum`.

    Rounded up, so that a small pool has a standby at all: 25 % of 1, 2, 3, 4, 5, 8 and 9 are 1, 1, 1, 1, 2, 2 and 3.
    A pool that serves nothing keeps no standby either: scaled to zero means no GPU is held. Integers only: a float
    would round 7 % of 100 up to 8.
    """
    if serving <= 0:
        return 0
    percent = DEFAULT_PERCENT if percent is None else percent
    minimum = DEFAULT_MIN if minimum is None else minimum
    return max(minimum, -(-percent * serving // 100))
