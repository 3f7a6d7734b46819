"""What does a Parquet table hold, and is it sound?"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, Any

import pandas as pd

from pt_active.frames.checks import file_path, some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.sources import beyond, naming, read_bytes, size_limit


def read_parquet(path: str | Path, wanted: tuple[str, ...] = (), no_limit: bool = False) -> pd.DataFrame:
    """Read a Parquet table."""
    with naming(path):
        table = _table(path, no_limit)
        if twice := sorted({str(name) for name in table.columns[table.columns.duplicated()]}):
            raise ValueError(f"the table has the columns {some(twice)} more than once")
        frame = with_string_ids(table)
        missing = [name for name in wanted if name not in frame.columns]
        if missing:
            raise ValueError(f"expected the columns {some(wanted)}; missing: {some(missing)}")
        if frame.empty and wanted:
            raise ValueError(f"the table is empty; expected rows with {some(wanted)}")
        return frame.set_axis(range(1, len(frame) + 1))


def _table(path: str | Path, no_limit: bool) -> pd.DataFrame:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    # Parquet needs to seek, so a stream is read whole.
    given = file_path("path", path)
    source: Any = given if given.is_file() or given.is_dir() else io.BytesIO(read_bytes(path, no_limit))
    limit = size_limit(no_limit)
    opened: IO[bytes] = source if isinstance(source, io.BytesIO) else given.open("rb")
    with opened:
        try:
            # The columns may be compressed or say one value many times over, so the size of the file says little.
            file = ParquetFile(opened)
            held = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            cells = file.metadata.num_rows * max(len(file.schema_arrow), 1)
            if max(held, cells) > limit:
                raise beyond("the table is larger", limit, "bytes or cells")
            opened.seek(0)
            return pd.read_parquet(opened)
        except OSError as error:
            raise ValueError(f"the table is damaged: {' '.join(str(error).split())[:200]}") from error
        except (pyarrow.ArrowException, OverflowError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"this is not a Parquet table, or a damaged one: {str(error)[:200]}") from error
