"""Where plans, audits and active tests are written, checked and read, and what a plan keeps.

A folder holds Parquet tables, and a manifest with the SHA-256 of each table and of itself. `write`, `check` and `read`
know this form alone; what is kept says which tables it has (`frames`) and is made from them again (`of_frames`).
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.atomic import new_folder
from pt_active.frames.checks import file_path, how_many, shown, some
from pt_active.frames.progress import working
from pt_active.frames.worklists import write_assessments
from pt_active.inference.rounds import Round
from pt_active.plans.making.manifest import (
    FORMAT_VERSION,
    Manifest,
    Provenance,
    RoundEntry,
    digest_of,
    from_json,
)
from pt_active.plans.making.pool import Pool, traffic_told
from pt_active.relevance.measures import has_rank_form, parse_measure
from pt_active.sampling.sample import DocumentDesign, Sample, TwoPhase
from pt_active.showing.printed import Printed, plain

MANIFEST = "manifest.json"

DIGESTS = "sha256"
"""The key of the manifest that holds the SHA-256 of each file."""

_MAX_NAMED_RANKERS = 10
"""If a plan has more rankers, their number is printed instead of their names."""


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

    def bytes_of(file: str) -> bytes:
        try:
            return (folder / file).read_bytes()
        except OSError as error:
            raise damaged(f"{file} cannot be read ({error})") from error

    text = bytes_of(MANIFEST)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"{MANIFEST} cannot be read ({error})") from error
    if not isinstance(values, dict) or "format_version" not in values:
        raise damaged(f"{MANIFEST} lacks format_version")
    if values.get("kind") != kind:
        raise ValueError(f"what is kept at {folder} is of the kind {values.get('kind')!r}; {kind!r} is needed")
    if values["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"the {kind} at {folder} is in format {shown(values['format_version'])}, as its {MANIFEST} says; this "
            f"version reads format {FORMAT_VERSION}: {again}"
        )
    digests, files = values.get(DIGESTS), {}
    if not isinstance(digests, dict) or digests.pop(MANIFEST, "") != digest_of(values):
        raise damaged(f"{MANIFEST} is not as it was saved (its SHA-256 differs)")
    for file, digest in digests.items():
        files[file] = content = bytes_of(file)
        if hashlib.sha256(content).hexdigest() != digest:
            raise damaged(f"{file} is not as it was saved (its SHA-256 differs)")
    return files, values


def read(folder: Path, kind: str) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """The tables of a folder by name, and the values of its manifest; raises as `check`."""
    files, values = check(folder, kind)
    return {file.removesuffix(".parquet"): pd.read_parquet(io.BytesIO(files[file])) for file in files}, values


class Content(Protocol):
    """What is kept of a plan, an audit or an active test."""

    KIND: ClassVar[str]

    @property
    def manifest(self) -> Provenance:
        """How it was made."""

    @property
    def assessments(self) -> pd.DataFrame:
        """What people judge."""

    def frames(self) -> dict[str, pd.DataFrame]:
        """Its tables, by the names of their files."""

    @classmethod
    def of_frames(cls, frames: dict[str, pd.DataFrame], values: dict[str, Any]) -> Self:
        """Make it again from its tables and the values of its manifest."""


Tables = TypeVar("Tables", bound=Content)


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
        return dict(plain(self.tables.manifest))

    @property
    def assessments(self) -> pd.DataFrame:
        """The documents that people judge: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

        They are sorted by qid and docno, so that the order reveals nothing about any ranking.
        """
        return self.tables.assessments.copy()

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
        tables = self.tables
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
    rounds: tuple[Round, ...] = ()  # empty if whole queries are sampled
    # What each document adds to the expected variance, float64[N], computed when it is first needed.
    gain: list[np.ndarray] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def measure(self) -> irm.Measure:
        """What the sample was designed for."""
        return parse_measure(self.manifest.arguments.measure)

    def named(self, measure: irm.Measure | None = None) -> str:
        """A measure, by default the plan's; one that needs all relevant documents names the pool of its values."""
        measure = self.measure if measure is None else measure
        if has_rank_form(measure):
            return str(measure)
        runs = len(self.pool.names) - len(self.manifest.later_rankers)
        depth = self.pool.ranks[:runs].max(initial=0)
        return f"{measure} in the pool (top {depth} of {how_many('run', runs)})"

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables on disk: the pool, the queries, what people judge, and each round."""
        frames = {"documents": self.pool.document_frame(), "queries": self.queries, "assessments": self.assessments}
        query = self.pool.query_of_document
        return frames | {f"round_{number}": _round_frame(each, query) for number, each in enumerate(self.rounds, 1)}

    @classmethod
    def of_frames(cls, frames: dict[str, pd.DataFrame], values: dict[str, Any]) -> Self:
        """The content of the tables that `frames` made, and of the values of the manifest."""
        manifest: Manifest = from_json(Manifest, values)
        pool, design = Pool.from_tables(frames["documents"], frames["queries"]), manifest.arguments.design
        rounds = (_round_of(pool, frames[f"round_{n}"], design, each) for n, each in enumerate(manifest.rounds, 1))
        return cls(pool, frames["queries"], frames["assessments"], manifest, tuple(rounds))


def _round_frame(drawn: Round, query: np.ndarray) -> pd.DataFrame:
    """A round as one row per document of the pool; ``query`` is int64[N], the query of each."""
    sample, design = drawn.sample, drawn.sample.design
    place = np.full(len(query), -1)
    place[design.order] = np.arange(len(design.order))
    columns = {"planned_opening": design.opening[query], "opening": sample.opening[query], "place": place}
    columns |= {"inclusion": design.inclusion, "drawn": sample.drawn}
    if sample.priority is not None and design.rate is not None:
        columns |= {"rate": design.rate, "priority": sample.priority}
    return pd.DataFrame(columns)


def _round_of(pool: Pool, frame: pd.DataFrame, design: str, entry: RoundEntry) -> Round:
    """The round of a table that `_round_frame` made."""
    column = {str(name): values.to_numpy() for name, values in frame.items()}
    planned, opening = (column[name][pool.indptr[:-1]] for name in ("planned_opening", "opening"))
    order = np.argsort(column["place"], kind="stable")[np.count_nonzero(column["place"] < 0) :]
    drawn_from = DocumentDesign(design, order, planned, column["inclusion"], column.get("rate"))
    sample = TwoPhase(drawn_from, Sample.once(opening), column["drawn"], float(entry.spent), column.get("priority"))
    return Round(sample, pool.grades, float(entry.expected_variance))


def check_extendable(tables: PlanTables) -> None:
    """Raise if nothing is left to judge, or the plan is not as it was drawn."""
    if tables.manifest.cut:
        raise ValueError("extend the plan as it was drawn, not the plan that was cut to the labels so far")
    if later := tables.manifest.later_rankers:
        raise ValueError(f"extend the plan as it was made, and add {some(later)} to the extended one")
    if tables.manifest.census:
        raise ValueError("nothing is left that can change the estimate: all is known, or drawn")


def in_words(tables: PlanTables) -> str:
    """A plan as printed: what it asks for and what that costs."""
    manifest, counts, arguments = tables.manifest, tables.manifest.counts, tables.manifest.arguments
    repeated = f"{how_many('draw', counts.draws)}, " if arguments.replace else ""
    kind = "census" if manifest.census else f"{repeated}design: {arguments.design}"
    rounds, unit = len(tables.rounds), arguments.unit
    again, queries = f" in round {rounds}" if rounds > 1 else "", counts.sampled_queries
    if manifest.extensions and not manifest.cut:
        again, queries = f" in extension {len(manifest.extensions)}", manifest.extensions[-1].queries
    longer = manifest.rounds and manifest.rounds[-1].assessments > counts.assessments
    what = "more document" if longer else "document"
    judge = f"{how_many(what, counts.assessments)} of {how_many('query', queries)}"
    names = tables.pool.names
    rankers = ", ".join(names) if len(names) <= _MAX_NAMED_RANKERS else how_many("ranker", len(names))
    cut = manifest.cut
    cut_line = f"\n  cut       to the first {cut.to} of {cut.of} {cut.unit}, which are judged" if cut else ""
    as_made = not (manifest.census or cut or manifest.extensions or rounds > 1 or longer)
    chosen = f"\n  chosen    {manifest.choice}" if manifest.choice and as_made else ""
    traffic = traffic_told(tables.pool.queries, tables.pool.query_weight)
    opening = f"; opening a query costs {arguments.per_query:.3g}{unit}" if arguments.per_query else ""
    return (
        f"Plan for {tables.named()} of {rankers}\n"
        f"  judge     {judge}{again} ({kind})\n"
        f"  cost      {manifest.spent:.6g} of {manifest.pool_cost:.6g}{unit} for the whole pool of "
        f"{how_many('query', counts.queries)}{traffic}{opening}{_saved(tables)}{cut_line}{chosen}"
    )


def _saved(tables: PlanTables) -> str:
    """The printed line on documents that cannot change the result; empty for plans of queries."""
    if not tables.rounds:
        return ""
    see = np.isfinite(tables.pool.document_cost)
    seen, useless = int(see.sum()), int((see & (tables.rounds[0].sample.design.inclusion == 0)).sum())
    documents = how_many("document", seen)
    return f"\n  saved     {useless} of {documents} cannot change the result" if useless else ""
