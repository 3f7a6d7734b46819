"""Compiled loops work where nothing can be written."""

import pytest
from numba.core import config

from pt_active.frames.compiling import compiled


@pytest.mark.skipif(not hasattr(config, "CACHE_LOCATOR_CLASSES"), reason="numba cannot be told to look nowhere else")
def test_loops_are_compiled_again_and_that_is_said():
    """Neither the package's folder nor the home folder can be written, as far as numba knows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
        patch.delenv("NUMBA_CACHE_DIR", raising=False)
        config.reload_config()
        with pytest.warns(UserWarning, match="neither the folder of pt_active nor the home folder can be written"):
            function = compiled()(lambda x: 2 * x)
        assert function(2.0) == 4.0
    config.reload_config()
