import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from made_answers import made


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return made()
