"""Settings of the whole suite."""

import contextlib
import signal

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None)  # a busy machine is not a failure
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak-examples",
        type=int,
        default=100_000,
        help="examples of each property under the soak marker",
    )


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background, where a shell leaves SIGINT ignored; the interrupts that are tested would not arrive.
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
