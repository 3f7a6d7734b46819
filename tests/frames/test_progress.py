"""A step is shown on a terminal only, only if it takes long, and leaves nothing behind."""

import io
import sys
import threading
import time

import pytest

from pt_active.frames import progress
from pt_active.frames.progress import working


@pytest.mark.parametrize(("tty", "patience", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_a_long_step_is_shown_on_a_terminal(monkeypatch, tty, patience, shown):
    screen, before = io.StringIO(), threading.active_count()
    screen.isatty = lambda: tty
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with working("saving my-plan"):
        for _ in range(100):
            if not shown or screen.getvalue():
                break
            time.sleep(0.01)
    assert ("saving my-plan … 00:00" in screen.getvalue()) == shown
    assert not screen.getvalue().rpartition("\r")[2].strip()
    assert threading.active_count() <= before + 1  # tqdm has a watching thread of its own
