"""The command that lets people judge a plan in their browsers: judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import typer

from pt_active.cli.answer import Answer, command_line
from pt_active.cli.commands import argument, of_every_command, option
from pt_active.cli.files import texts_for
from pt_active.cli.options import Meant
from pt_active.cli.project import FILE, go_on_with
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

NEEDED = ("starlette", "uvicorn", "markdown_it")  # The packages that the extra ``judge`` installs

DEMO_FOLDER = Path("demo-plan")  # Where ``--demo`` keeps its plan

PORT = 8765  # The default of ``--port``

_ORGANISER = "organiser"  # How the organiser's link is called

_MAX_NAME = 60

_JUDGE = "judge"  # The name of the only judge if no names are given


@dataclass(frozen=True)
class Address:
    """Where a judging server listens."""

    port: int = option(PORT, f"The port; default {PORT}, 0 for any that is free.", "N", within=(0, 65535))
    host: str = option("127.0.0.1", "Where to listen; 0.0.0.0 lets other machines in.", "ADDRESS")
    address: str | None = option(None, "The name of this machine in the links, if not --host.", "NAME", rare=True)
    certificate: Path | None = option(None, "A certificate, for TLS.", "FILE", rare=True)
    key: Path | None = option(None, "The private key of the certificate.", "FILE", rare=True)

    def check(self) -> None:
        """Raise if a file is missing."""
        if self.key is not None and self.certificate is None:
            raise ValueError("--key goes with --certificate")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise FileNotFoundError(f"there is no file {path}")


@dataclass(frozen=True)
class Setting:
    """How a plan is judged; the project file continues with the longer plan after a next round."""

    judges: str | None = option(None, "Names of judges, separated by commas; each gets a link.", "NAMES")
    guideline: Path | None = option(None, "A Markdown file that judges see beside the documents.", "FILE")
    grade_names: str | None = of_every_command(None)
    store: Path | None = option(None, "Where judgments are kept; default: PLAN.sqlite.", "FILE")
    block: int = option(BLOCK, "Documents of a block of the drawn order.", "N", within=(1, 1_000_000), rare=True)
    double: float | None = option(
        None, f"The share of documents that two people judge; default {DOUBLE:g}, 0 with one judge."
    )
    patience: float = option(
        PATIENCE / 60, "How long a judge may be away before others are asked.", "MINUTES", rare=True
    )
    margin: float | None = option(
        None, "Differences up to this do not matter; of one ranker, how far off the estimate may be."
    )
    project: Path = of_every_command(FILE)

    def site(self, plan: Plan, folder: Path, texts: pd.DataFrame | None, meant: Meant) -> Site:
        """The pages of the plan, or of the plan that extends it if it was extended from the organiser's page."""
        from pt_active.judging.server.app import Site
        from pt_active.judging.server.organiser import Organiser
        from pt_active.judging.server.security import ORGANISER
        from pt_active.judging.server.templates import guideline_html

        double = None if self.double is None else float(within("double", self.double, 0, 1))
        patience, names = 60 * positive("patience", self.patience), GradeNames.parsed(self.grade_names)
        judges, kept = judge_names(self.judges), self.store or kept_at(folder)
        if len(plan.rankers) == 1 and self.margin is None:
            raise ValueError("the plan has one ranker: pass --margin, how far off its estimate may be")
        guideline = "" if self.guideline is None else guideline_html(self.guideline)
        store = Store(kept, plan.id)
        store.token(ORGANISER)
        for name in judges or ([] if len(store.people()) > 1 else [_JUDGE]):
            store.token(name)
        order_of: OrderOf = partial(JudgingOrder.of, block=self.block, double=_share(store, double))
        work, longer = order_of(plan, texts), store.setting("folder")
        if longer is not None and Path(longer).is_dir() and Path(longer) != folder.absolute():
            plan, folder = Plan.load(longer), Path(longer)
            work = order_of(plan, texts_together(work, texts))
        campaign = Campaign(plan, work, store, names, patience)
        extended = partial(go_on_with, self.project, store=kept)
        asked = {"margin": self.margin, **meant.fields}
        organiser = Organiser(campaign, folder, order_of, texts, asked, extended)
        return Site(campaign, organiser, guideline)


def _share(store: Store, asked: float | None) -> float:
    """The share of documents that two people judge: what was said, that of an earlier start, or the default."""
    begun = store.setting(DOUBLE_SHARE)
    if asked is None:
        # Without a second judge, no document could ever be judged twice.
        several = sum(not name.startswith(":") for name in store.people()) > 1
        return float(begun) if begun is not None else DOUBLE if several else 0.0
    if begun is not None and float(begun) != asked and store.entries():
        said = f"judging began with --double {float(begun):g}; with --double {asked:g} other labels count"
        typer.echo(f"warning: {said}, and looks before do not", err=True)
    return asked


def judge(
    setting: Setting,
    meant: Meant,
    where: Address,
    plan: Path | None = argument(None, "The folder of a plan; not needed with --demo.", "PLAN"),
    texts: Path | None = option(None, "Document texts, if the plan has none.", "FILE"),
    demo: bool = option(False, "Judge a plan of simulated documents, made here."),
) -> Answer:
    """Let people judge a plan in their browsers, and see at any time what is known."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise ValueError(f"judge needs {', '.join(missing)}: pip install 'pt-active[judge]'")
    where.check()
    if demo:
        loaded, folder, given = _demo(texts)
    elif plan is None:
        raise ValueError("pass the folder of a plan, or --demo")
    else:
        loaded = Plan.load(plan)
        given = texts_for(loaded, texts, warned=False)
        # What is kept beside the folder is called after it, which "." and ".." are not.
        folder = plan if plan.name not in ("", "..") else plan.resolve()
    site = setting.site(loaded, folder, given, meant)
    try:
        _serve(site, where)
        return _ended(site, site.organiser.folder, setting.store or kept_at(folder))
    finally:
        site.campaign.store.close()


def kept_at(folder: Path) -> Path:
    """The file in which judgments of a plan are kept unless another is said: PLAN.sqlite, beside its folder."""
    return folder.with_name(f"{folder.name}.sqlite")


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
