"""Logs: one JSON object a line for collectors, or plain text for people."""

import json
import logging
import sys
from typing import Literal

_NOISY = ("kopf", "aiohttp.access", "asyncio")


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        service = getattr(record, "service", None)
        if service is not None:
            line["service"] = str(service)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up(level: str, style: Literal["json", "text"]) -> None:
    """Log to stderr. kopf tells every event it handles at INFO: only its warnings are kept."""
    handler = logging.StreamHandler(sys.stderr)
    text = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    handler.setFormatter(_JsonFormatter() if style == "json" else logging.Formatter(text))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
