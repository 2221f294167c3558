"""One long call in another thread: its result, its errors, and Ctrl-C while it goes on."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn import config_context, get_config

from tamis.kernels.background import call_in_background


@pytest.fixture(autouse=True)
def python_handles_sigint():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_the_call_returns_or_raises_is_passed_on():
    assert call_in_background(threading.get_ident) != threading.get_ident()

    def fail():
        raise ZeroDivisionError("in the background")

    with pytest.raises(ZeroDivisionError, match="in the background"):
        call_in_background(fail)


def test_ctrl_c_does_not_wait_for_the_call():
    nobody_waits, has_ended = threading.Event(), threading.Event()

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        nobody_waits.wait()
        has_ended.set()

    with pytest.raises(KeyboardInterrupt):
        call_in_background(work)
    assert not has_ended.is_set()
    nobody_waits.set()
    assert has_ended.wait(10)


def test_ctrl_c_cancels_a_call_that_can_be_cancelled_and_waits_for_its_end():
    is_cancelled, has_ended = threading.Event(), threading.Event()

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        is_cancelled.wait()
        has_ended.set()

    with pytest.raises(KeyboardInterrupt):
        call_in_background(work, cancel=is_cancelled.set)
    assert has_ended.is_set()


def test_signs_of_life_are_given_while_the_call_goes_on(monkeypatch):
    monkeypatch.setattr("tamis.kernels.background.INTERVAL", 0.001)
    seen, calls = threading.Event(), []

    def on_wait():
        calls.append(threading.current_thread())
        if len(calls) == 3:
            seen.set()

    assert call_in_background(seen.wait, on_wait=on_wait)
    assert len(calls) >= 3
    assert set(calls) == {threading.main_thread()}


def test_settings_of_numpy_and_scikit_learn_are_those_of_the_caller():
    with np.errstate(divide="raise"), config_context(assume_finite=True):
        found = call_in_background(lambda: (np.geterr()["divide"], get_config()["assume_finite"]))
    assert found == ("raise", True)


def test_in_another_thread_than_the_main_one_nothing_is_started():
    assert call_in_background(lambda: call_in_background(threading.get_ident) == threading.get_ident())
