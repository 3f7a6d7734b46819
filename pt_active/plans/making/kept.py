"""Where plans, audits and active tests are written, checked and read, and what a plan keeps.

A folder holds Parquet tables, and a manifest with the SHA-256 of each table and of itself. `write`, `check` and `read`
know this form alone; what is kept says which tables it has (`frames`) and is made from them again (`of_frames`).
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.atomic import new_folder
from pt_active.frames.checks import file_path, how_many, shown
from pt_active.frames.progress import working
from pt_active.frames.worklists import write_assessments
from pt_active.inference.drawn_documents import DrawnDocuments
from pt_active.plans.making.manifest import (
    FORMAT_VERSION,
    Counts,
    Manifest,
    PlanArguments,
    PlanSource,
    Provenance,
    digest,
    digest_of,
    from_json,
)
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import has_rank_form, parse_measure
from pt_active.sampling.sample import Costs, DocumentDesign, TwoPhase
from pt_active.showing.printed import Printed, plain

MANIFEST = "manifest.json"

DIGESTS = "sha256"
"""The key of the manifest that holds the SHA-256 of each file."""

_CHANGED = "is not as it was saved (its SHA-256 differs)"


def write(folder: Path, kind: str, manifest: Provenance, frames: Mapping[str, pd.DataFrame]) -> None:
    """Write tables and a manifest into an empty folder."""
    digests: dict[str, str] = {}
    values = asdict(manifest) | {"kind": kind, DIGESTS: digests}
    for name, frame in frames.items():
        content = frame.to_parquet(index=False)
        digests[f"{name}.parquet"] = hashlib.sha256(content).hexdigest()
        (folder / f"{name}.parquet").write_bytes(content)
    digests[MANIFEST] = digest_of(values)
    (folder / MANIFEST).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def check(folder: Path, kind: str) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The content of each table and the values of the manifest, if all is as it was written."""
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"there is no {kind} at {folder}: it has no {MANIFEST}")
    again = f"make the {kind} again from the same inputs and seed"

    def damaged(how: str) -> ValueError:
        return ValueError(f"the {kind} at {folder} is damaged: {how}; restore the folder from a copy, or {again}")

    def part(file: str, form: Callable[[bytes], Any] = bytes) -> Any:
        try:
            return form((folder / file).read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise damaged(f"{file} cannot be read ({error})") from error

    values = part(MANIFEST, json.loads)
    if not isinstance(values, dict) or "format_version" not in values:
        raise damaged(f"{MANIFEST} lacks format_version")
    if (found := values.get("kind")) != kind:
        raise ValueError(f"what is kept at {folder} is of the kind {found!r}; {kind!r} is needed")
    if (found := values["format_version"]) != FORMAT_VERSION:
        said = f"the {kind} at {folder} is in format {shown(found)}, as its {MANIFEST} says"
        raise ValueError(f"{said}; this version reads format {FORMAT_VERSION}: {again}")
    digests, files = values.get(DIGESTS), {}
    if not isinstance(digests, dict) or digests.pop(MANIFEST, "") != digest_of(values):
        raise damaged(f"{MANIFEST} {_CHANGED}")
    for file, known in digests.items():
        files[file] = content = part(file)
        if hashlib.sha256(content).hexdigest() != known:
            raise damaged(f"{file} {_CHANGED}")
    return files, values


def read(folder: Path, kind: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """The tables of a folder by name, and the values of its manifest; raises as `check`."""
    files, values = check(folder, kind)
    return {file.removesuffix(".parquet"): pd.read_parquet(io.BytesIO(files[file])) for file in files}, values


Tables = TypeVar("Tables")


class Kept(Printed, pt.Artifact, Generic[Tables]):
    """What is kept while people judge, in memory or in a folder, which is read on first use.

    Args:
        path: The folder of a saved artifact.
    """

    ARTIFACT_TYPE: str
    ARTIFACT_FORMAT = "parquet"
    ARTIFACT_PACKAGE_HINT = "pt-active"
    TABLES: type[Any]

    @classmethod
    def _of(cls, tables: Tables, path: Any = pt.Artifact.NO_PATH) -> Self:
        """An artifact that holds these tables, in memory if it has no path."""
        made = cls(path)
        made.tables = tables
        return made

    @cached_property
    def tables(self) -> Tables:
        """The content."""
        with working(f"reading {self.path}"):
            return cast(Tables, self.TABLES.of_frames(*read(file_path("path", self.path), self.TABLES.KIND)))

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, arguments with the seed, what was drawn and what it costs, and digests of the inputs."""
        return dict(plain(cast(Any, self.tables).manifest))

    @property
    def assessments(self) -> pd.DataFrame:
        """The documents that people judge: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

        They are sorted by qid and docno, so that the order reveals nothing about any ranking.
        """
        return cast(Any, self.tables).assessments.copy()

    @classmethod
    def load(cls, path: str | Path, **kwargs: Any) -> Self:
        """Read a saved artifact.

        Raises:
            FileNotFoundError: If there is no artifact at the path.
            ValueError: If the path is invalid, or the artifact is damaged or in a format that this version cannot read.
        """
        loaded = cls(file_path("path", path), **kwargs)
        loaded.tables  # noqa: B018 reads the folder
        return loaded

    def save(self, path: str | Path) -> Self:
        """Write the artifact to a new folder, completely or not at all.

        Returns:
            The artifact at its path.

        Raises:
            FileExistsError: If the path exists.
            FileNotFoundError: If its parent folder does not.
        """
        path = file_path("path", path).absolute()
        if path.exists():
            raise FileExistsError(f"{path} exists; choose another folder for the {type(self).__name__.lower()}")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} does not exist")
        tables: Any = self.tables
        with working(f"saving {path}"), new_folder(path) as folder:
            write(folder, tables.KIND, tables.manifest, tables.frames())
            meta = {"type": self.ARTIFACT_TYPE, "format": self.ARTIFACT_FORMAT}
            meta["package_hint"] = self.ARTIFACT_PACKAGE_HINT
            (folder / "pt_meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")
        return self._of(tables, path)

    def export(self, path: str | Path, format: str = "trec") -> Path:
        """Write what people are to judge to a file.

        Args:
            path: A file that does not exist yet.
            format: A name in `worklists.FORMATS`.

        Returns:
            The path.

        Raises:
            FileExistsError: If the file exists.
            ValueError: If the format is unknown.
        """
        write_assessments(self.assessments, path, format)
        return Path(path)


@dataclass(frozen=True)
class PlanTables:
    """The content of a plan.

    The table of queries has the design of all queries with ``q_draws``, ``q_importance`` and ``q_inclusion``, and in
    plans of queries ``q_priority``: queries are drawn in increasing order of it.
    """

    KIND: ClassVar[str] = "plan"

    pool: Pool  # all queries with their sampled rankings and grades
    queries: pd.DataFrame
    assessments: pd.DataFrame  # the documents that people judge: qid, docno (+ query, text), inclusion
    manifest: Manifest
    documents: DrawnDocuments | None = None  # None if whole queries are sampled
    # What each document adds to the expected variance, float64[N], computed when it is first needed.
    gain: list[np.ndarray] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def measure(self) -> irm.Measure:
        """What the sample was designed for."""
        return parse_measure(self.manifest.arguments.measure)

    @property
    def prices(self) -> Costs:
        """What judging the documents of the pool costs."""
        return Costs(self.pool.indptr, self.pool.document_cost, self.manifest.arguments.per_query)

    def named(self, measure: irm.Measure | None = None) -> str:
        """A measure, by default the plan's; one that needs all relevant documents names the pool of its values."""
        measure = self.measure if measure is None else measure
        if has_rank_form(measure):
            return str(measure)
        runs = len(self.pool.names) - len(self.manifest.later_rankers)
        depth = self.pool.ranks[:runs].max(initial=0)
        return f"{measure} in the pool (top {depth} of {how_many('run', runs)})"

    @classmethod
    def new(
        cls,
        source: PlanSource,
        arguments: PlanArguments,
        queries: pd.DataFrame,
        assessments: pd.DataFrame,
        census: bool,
        documents: DrawnDocuments | None = None,
    ) -> Self:
        """A new plan, of queries or of documents."""
        pool, topics, keys = source.pool, source.topics, assessments[["qid", "docno"]]
        draws = keys["qid"].map(queries.set_index("qid")["q_draws"]).astype("int64")
        manifest = Manifest(
            arguments=arguments,
            rankers=pool.names,
            limit=float(arguments.budget or 0),
            pool_cost=float(pool.query_cost.sum()),
            inputs={"pool": digest(source.frame), "topics": None if topics is None else digest(topics)},
            choice=source.choice,
            drawn=digest(keys.assign(draws=draws)),
        )
        return cls(pool, queries, assessments, manifest, documents).counted(census)

    def counted(self, census: bool, **changes: Any) -> Self:
        """The plan with other entries in its manifest, which then counts what was drawn and what that costs."""
        pool, draws, drawn = self.pool, self.queries["q_draws"].to_numpy(), self.documents
        spent = drawn.sample.spent if drawn else pool.query_cost[draws > 0].sum()
        sizes = len(self.queries), len(pool.docno), len(pool.names)
        counts = Counts(*sizes, int((draws > 0).sum()), int(draws.sum()), len(self.assessments))
        expected = None if drawn is None else drawn.expected
        changes |= {"counts": counts, "spent": float(spent), "census": census, "expected_variance": expected}
        return replace(self, manifest=replace(self.manifest, **changes))

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables on disk: the pool, the queries, what people judge, and which documents were drawn."""
        frames = {"documents": self.pool.document_frame(), "queries": self.queries, "assessments": self.assessments}
        if self.documents is None:
            return frames
        return frames | {"sample": _sample_frame(self.documents.sample, self.pool.query_of_document)}

    @classmethod
    def of_frames(cls, frames: dict[str, pd.DataFrame], values: dict[str, Any]) -> Self:
        """The content of the tables that `frames` made, and of the values of the manifest."""
        manifest: Manifest = from_json(Manifest, values)
        pool, drawn = Pool.from_tables(frames["documents"], frames["queries"]), None
        if manifest.expected_variance is not None:
            sample = _sample_of(pool, frames["sample"], manifest.arguments.design, manifest.spent)
            drawn = DrawnDocuments(sample, pool.grades, manifest.expected_variance)
        return cls(pool, frames["queries"], frames["assessments"], manifest, drawn)


def _sample_frame(sample: TwoPhase, query: np.ndarray) -> pd.DataFrame:
    """A sample as one row per document of the pool; ``query`` is int64[N], the query of each."""
    design = sample.design
    place = np.full(len(query), -1)
    place[design.order] = np.arange(len(design.order))
    columns = {"planned_opening": design.opening[query], "opening": sample.opening[query], "place": place}
    columns |= {"inclusion": design.inclusion, "drawn": sample.drawn, "priority": sample.priority}
    return pd.DataFrame(columns if design.rate is None else columns | {"rate": design.rate})


def _sample_of(pool: Pool, frame: pd.DataFrame, design: str, spent: float) -> TwoPhase:
    """The sample of a table that `_sample_frame` made."""
    column = {str(name): values.to_numpy() for name, values in frame.items()}
    planned, opening = (column[name][pool.indptr[:-1]] for name in ("planned_opening", "opening"))
    order = np.argsort(column["place"], kind="stable")[np.count_nonzero(column["place"] < 0) :]
    drawn_from = DocumentDesign(design, order, planned, column["inclusion"], column.get("rate"))
    return TwoPhase(drawn_from, opening, column["drawn"], spent, column["priority"])
