"""The command that lets people judge a plan in their browsers: judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer

from pt_active.cli import options
from pt_active.cli.command_line import Answer, command_line
from pt_active.cli.options import whole
from pt_active.cli.project import FILE, go_on_with
from pt_active.cli.texts import texts_for
from pt_active.frames.checks import agreeing, how_many, positive, shown, within
from pt_active.frames.records import ADJUDICATOR
from pt_active.frames.topics import read_texts
from pt_active.frames.visible import visible, visible_field
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.order import BLOCK, DOUBLE, JudgingOrder, OrderOf, texts_together
from pt_active.judging.server.sharing import PATIENCE
from pt_active.judging.server.store import DOUBLE_SHARE, Store
from pt_active.judging.worklist import GradeNames
from pt_active.plans.plan import Plan

if TYPE_CHECKING:
    from pt_active.judging.server.app import Site

NEEDED = ("starlette", "uvicorn", "markdown_it")
"""The packages that the extra ``judge`` installs."""

DEMO_FOLDER = Path("demo-plan")
"""Where ``--demo`` keeps its plan."""

PORT = 8765
"""The default of ``--port``."""

_ORGANISER = "organiser"
"""How the organiser's link is called."""

_MAX_PORT = 65535

_MAX_NAME = 60

_JUDGE = "judge"
"""The name of the only judge if no names are given."""


@dataclass(frozen=True)
class Address:
    """Where a judging server listens.

    Attributes:
        host: The name or address that it listens on.
        port: The port; 0 for any that is free.
        address: The name of this machine in the links; None for ``host``.
        certificate: A file with the certificate for TLS.
        key: A file with its private key.
    """

    host: str
    port: int
    address: str | None
    certificate: Path | None
    key: Path | None

    def check(self) -> None:
        """Raise if a file is missing."""
        if self.key is not None and self.certificate is None:
            raise ValueError("--key goes with --certificate")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise FileNotFoundError(f"there is no file {path}")


@dataclass(frozen=True)
class Setting:
    """How a plan is judged.

    Attributes:
        folder: The folder of the plan.
        store: The file in which judgments are kept.
        texts: ``docno, text``; None if there are none but those of the plan.
        block: Documents of a block of the drawn order.
        double: The share of documents that two people judge; None for that with which judging began.
        names: The words for the grades.
        guideline: A Markdown file; None if there is none.
        patience: Seconds without a sign of a judge until the judge's documents go to others.
        margin: Differences up to this do not matter; a plan of one ranker needs it.
        project: The project file, which goes on with the longer plan after a next round.
    """

    folder: Path
    store: Path
    texts: pd.DataFrame | None
    block: int
    double: float | None
    names: GradeNames
    guideline: Path | None
    patience: float
    margin: float | None
    project: Path

    def site(self, plan: Plan, judges: list[str]) -> Site:
        """The pages of the plan, or of the plan that extends it if it was extended from the organiser's page."""
        from pt_active.judging.server.app import Site
        from pt_active.judging.server.organiser import Organiser
        from pt_active.judging.server.security import ORGANISER
        from pt_active.judging.server.templates import guideline_html

        if len(plan.rankers) == 1 and self.margin is None:
            raise ValueError("the plan has one ranker: say --margin, how far off its estimate may be")
        shown_guideline = "" if self.guideline is None else guideline_html(self.guideline)
        store = Store(self.store, plan.id)
        store.token(ORGANISER)
        for name in judges or ([] if len(store.people()) > 1 else [_JUDGE]):
            store.token(name)
        order_of = partial(JudgingOrder.of, block=self.block, double=self._share(store))
        plan, folder, work = self._longer(plan, order_of, store)
        campaign = Campaign(plan, work, store, self.names, self.patience)
        extended = partial(go_on_with, self.project, store=self.store)
        organiser = Organiser(campaign, folder, order_of, self.texts, self.margin, extended)
        return Site(campaign, organiser, shown_guideline)

    def _share(self, store: Store) -> float:
        """The share of documents that two people judge: what was said, that of an earlier start, or the default."""
        begun = store.setting(DOUBLE_SHARE)
        if self.double is not None:
            if begun is not None and float(begun) != self.double and store.entries():
                typer.echo(
                    f"warning: judging began with --double {float(begun):g}; with --double {self.double:g} other "
                    "labels count, and looks before do not",
                    err=True,
                )
            return self.double
        # Without a second judge, no document could ever be judged twice.
        several = sum(not name.startswith(":") for name in store.people()) > 1
        return float(begun) if begun is not None else DOUBLE if several else 0.0

    def _longer(self, plan: Plan, order_of: OrderOf, store: Store) -> tuple[Plan, Path, JudgingOrder]:
        """The plan that extends this one, if there is one, its folder and its documents."""
        work = order_of(plan, self.texts)
        longer = store.setting("folder")
        if longer is None or not Path(longer).is_dir() or Path(longer) == self.folder.absolute():
            return plan, self.folder, work
        extended = Plan.load(longer)
        return extended, Path(longer), order_of(extended, texts_together(work, self.texts))


def judge(
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="The folder of a plan; not needed with --demo.")
    ] = None,
    judges: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names of judges, separated by commas; each gets a link.")
    ] = None,
    guideline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Markdown file that judges see beside the documents.")
    ] = None,
    grade_names: options.GradeWords = None,
    texts: options.Texts = None,
    demo: Annotated[bool, typer.Option("--demo", help="Judge a plan of simulated documents, made here.")] = False,
    port: Annotated[int, whole("--port", 0, _MAX_PORT, f"The port; default {PORT}, 0 for any that is free.")] = PORT,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    address: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of this machine in the links, if not --host.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate, for TLS.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The private key of the certificate.")] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where judgments are kept; default: PLAN.sqlite.")
    ] = None,
    block: Annotated[int, whole("--block", 1, 1_000_000, "Documents of a block of the drawn order.")] = BLOCK,
    double: Annotated[
        float | None,
        typer.Option(
            metavar="X", help=f"The share of documents that two people judge; default {DOUBLE:g}, 0 with one judge."
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(metavar="MINUTES", help="How long a judge may be away before others are asked.")
    ] = PATIENCE / 60,
    margin: options.Margin = None,
    project: Path = FILE,
) -> Answer:
    """Let people judge a plan in their browsers, and see all the while what is known."""
    _check_extra()
    where = Address(host, port, address, certificate, key)
    where.check()
    loaded, folder, given = _demo(texts) if demo else _loaded(plan, texts)
    kept = store or kept_at(folder)
    share = None if double is None else float(within("double", double, 0, 1))
    seconds, names = 60 * positive("patience", patience), GradeNames.parsed(grade_names)
    setting = Setting(folder, kept, given, block, share, names, guideline, seconds, margin, project)
    site = setting.site(loaded, judge_names(judges))
    try:
        _serve(site, where)
        return _ended(site, site.organiser.folder, kept)
    finally:
        site.campaign.store.close()


def kept_at(folder: Path) -> Path:
    """The file in which judgments of a plan are kept unless another is said: PLAN.sqlite, beside its folder."""
    return folder.with_name(f"{folder.name}.sqlite")


def _check_extra() -> None:
    """Raise if a package of the extra is not installed."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise ValueError(f"judge needs {', '.join(missing)}: pip install 'pt-active[judge]'")


def _loaded(folder: Path | None, texts: Path | None) -> tuple[Plan, Path, pd.DataFrame | None]:
    if folder is None:
        raise ValueError("say the folder of a plan, or --demo")
    plan = Plan.load(folder)
    given = None if texts is None else texts_for(plan, texts, warned=False)
    # What is kept beside the folder is called after it, which "." and ".." are not.
    return plan, folder if folder.name not in ("", "..") else folder.resolve(), given


def _demo(texts: Path | None) -> tuple[Plan, Path, pd.DataFrame | None]:
    """The demo's plan, which is made at the first start, and the texts of its documents."""
    from pt_active.demo.run import demo_plan

    made, collection = demo_plan()
    plan = Plan.load(DEMO_FOLDER) if DEMO_FOLDER.exists() else made.save(DEMO_FOLDER)
    return plan, DEMO_FOLDER, collection.documents if texts is None else read_texts(texts)


def judge_names(judges: str | None) -> list[str]:
    """The names of the judges."""
    if judges is None:
        return []
    names = [name.strip() for name in judges.split(",")]
    for name in names:
        taken = name in (_ORGANISER, ADJUDICATOR)
        if not 0 < len(name) <= _MAX_NAME or ":" in name or visible_field(name) != name or taken:
            raise ValueError(
                f"--judges: expected names of 1 to {_MAX_NAME} characters without colons, separated by commas, and "
                f"none of them {_ORGANISER} or {ADJUDICATOR}; got {shown(name)}"
            )
        if names.count(name) > 1:
            raise ValueError(f"--judges: the name {shown(name)} occurs more than once")
    return names


def _serve(site: Site, where: Address) -> None:
    from pt_active.judging.server.security import ORGANISER
    from pt_active.judging.server.serve import links, listening, risk, root_of, serve

    opened = listening(where.host, where.port)
    secure = where.certificate is not None
    people = site.campaign.store.people()
    lines = links(people, root_of(opened, where.host, where.address, secure))
    if warning := risk(where.host, secure):
        typer.echo(f"warning: {warning}", err=True)
    untold = sum(not document.text for document in site.campaign.work.documents)
    if untold:
        typer.echo(f"warning: {how_many('document', untold, 'has')} no text; give --texts", err=True)
    wide = max(map(len, people)) + 2
    named = {(_ORGANISER if name == ORGANISER else name): link for name, link in lines.items()}
    told = "\n".join(f"  {visible(name):{wide}}{link}" for name, link in named.items())
    typer.echo(f"Open your own link, and send each judge theirs. Ctrl-C ends the server.\n{told}", err=True)
    serve(site.application(), opened, where.certificate, where.key)


def _ended(site: Site, folder: Path, kept: Path) -> Answer:
    campaign = site.campaign
    settled, size = campaign.sharing.settled, len(campaign.work.documents)
    text = (
        f"{settled} of {how_many('document', size)} {agreeing('is', size)} done; {how_many('record', campaign.kept)} "
        f"{agreeing('is', campaign.kept)} kept in {kept}."
    )
    hint = f"Next, see what they say, or go on judging with the same command:\n  {command_line('status', folder, kept)}"
    content = {"store": str(kept), "records": campaign.kept, "settled": settled, "documents": size}
    return Answer(content, text, hint)
