"""The hard limit arrives wherever the work is, and leaves nothing behind."""

from __future__ import annotations

import ctypes
import signal
import sys
import time

import pytest

from verifier.engine import watchdog


def test_it_ends_what_does_not_look_at_the_clock() -> None:
    begin = time.monotonic()
    with pytest.raises(watchdog.OutOfTimeError), watchdog.limit(0.05):
        while True:
            pass
    assert time.monotonic() - begin < 2
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_one_that_a_destructor_drops_comes_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watchdog, "_AGAIN", 0.05)
    dropped: list[bool] = []

    class Slow:
        def __del__(self) -> None:
            try:
                end = time.process_time() + 0.5
                while not dropped and time.process_time() < end:
                    pass
            except watchdog.OutOfTimeError:
                dropped.append(True)
                raise

    before = sys.unraisablehook
    with pytest.raises(watchdog.OutOfTimeError), watchdog.limit(0.05):
        slow = Slow()
        del slow
        while True:
            pass
    assert dropped and capfd.readouterr().err == ""
    assert sys.unraisablehook is before


def test_it_passes_through_what_makes_an_error_of_its_own_of_it() -> None:
    class Slow(ctypes.c_int):
        @classmethod
        def from_param(cls, value: object) -> Slow:
            while True:
                pass

    function = ctypes.pythonapi.Py_IsInitialized
    with pytest.raises(watchdog.OutOfTimeError), watchdog.limit(0.05):
        prototype = ctypes.CFUNCTYPE(ctypes.c_int)(function)  # a function object of its own
        prototype.argtypes = [Slow]
        prototype(1)


def test_an_error_before_its_time_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError), watchdog.limit(5):
        print(1 // int("0"))


def test_it_does_nothing_to_what_is_in_time() -> None:
    with watchdog.limit(0.05):
        pass
    time.sleep(0.1)
