"""Use Great Expectations without its noise: no usage statistics, warnings or log lines."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = "great_expectations"


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the library while it is imported and run; its log lines could quote cells."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logger = logging.getLogger(LOGGER)
    level, propagate, handlers = logger.level, logger.propagate, logger.handlers
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate, logger.handlers = False, [logging.NullHandler()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        logger.propagate, logger.handlers = propagate, handlers
