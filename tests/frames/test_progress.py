"""A step is shown on a terminal only, and leaves nothing behind."""

import io
import sys

import pytest

from pt_active.frames.progress import working


@pytest.mark.parametrize("tty", [True, False])
def test_a_step_is_shown_on_a_terminal(monkeypatch, tty):
    screen = io.StringIO()
    screen.isatty = lambda: tty
    monkeypatch.setattr(sys, "stderr", screen)
    with working("saving my-plan"):
        assert ("saving my-plan …" in screen.getvalue()) == tty
    assert not screen.getvalue().rpartition("\r")[2].strip()
