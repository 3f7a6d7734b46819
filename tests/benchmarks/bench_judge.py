"""How long does it take to save a label when many judge at once, and is every acknowledged label there after kills?

A server judges a made-up plan in a process of its own, which is killed at random moments and started again. Judges ask,
answer after a pause, and send again what was not acknowledged, as their browsers do.

    python tests/benchmarks/bench_judge.py --judges 20 --labels 3000 --kills 10

With ``--full FOLDER``, the judgments are kept in FOLDER, a small file system of its own, such as one made by
``mount -t tmpfs -o size=16m tmpfs FOLDER``. After a third of the labels it is filled to the last byte, and it is freed
when a hundred requests have been refused.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import numpy as np
import pandas as pd

from pt_active import DCG, Plan
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.serve import links, listening
from pt_active.judging.server.store import Store, stored_records

DEPTH = 20
PAUSE = 0.4  # seconds between two labels of a judge, on average


def made_up_plan(documents: int, folder: Path) -> Plan:
    """A plan of whole queries with that many documents, all of which are to be judged."""
    rng, count = np.random.default_rng(1), -(-documents // DEPTH)
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{number}" for number in range(count)], DEPTH),
            "docno": [f"d{number}" for number in range(count * DEPTH)],
            "rank_a": np.tile(np.arange(DEPTH), count),
            "rank_b": np.concatenate([rng.permutation(DEPTH) for _ in range(count)]),
            "query": "a query of some words",
            "text": "A text of a hundred words or so, which is read and then judged. " * 10,
        }
    )
    frame[["grade_0", "grade_1", "grade_2"]] = rng.dirichlet([2, 1, 1], size=len(frame))
    return Plan.create(frame, None, DCG @ DEPTH, budget=2.0 * len(frame), level="query").save(folder)


@dataclass
class Seen:
    """What the judges saw."""

    wanted: int
    seconds: list[float] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    failures: int = 0

    @property
    def progress(self) -> float:
        """Which part of the labels is there."""
        return len(self.acknowledged) / self.wanted


async def judge(client: httpx.AsyncClient, link: str, seen: Seen, rng: random.Random) -> None:
    """Judge until there are enough labels, or nothing is left; a label is sent until it is acknowledged."""
    documents: list[dict[str, str]] = []
    sent: dict[str, object] = {}
    while seen.progress < 1:
        try:
            if not documents:
                documents = (await client.get(f"{link}work")).raise_for_status().json()["documents"]
                if not documents:
                    return
            if not sent:
                await asyncio.sleep(rng.uniform(0.5, 1.5) * PAUSE)
                sent = {name: documents[0][name] for name in ("qid", "docno")}
                sent |= {"key": secrets.token_hex(16), "status": "judged", "label": rng.randrange(3), "note": ""}
            begin = time.perf_counter()
            answer = (await client.post(f"{link}records", json=[sent])).raise_for_status().json()
        except httpx.HTTPError:
            seen.failures += bool(sent)
            await asyncio.sleep(0.1)
            continue
        seen.seconds.append(time.perf_counter() - begin)
        seen.acknowledged.update(answer["kept"])
        documents, sent = documents[1:], {}


async def fill(folder: Path | None, seen: Seen) -> None:
    """Fill the disk after a third of the labels, and free it after a hundred requests were refused."""
    if folder is None:
        return
    while seen.progress < 1 / 3:
        await asyncio.sleep(0.05)
    ballast, before = folder / "ballast", (seen.failures, len(seen.acknowledged))
    with suppress(OSError), ballast.open("wb", buffering=0) as stream:
        while stream.write(bytes(512)):
            pass
    # What was under way may still fit in.
    while seen.failures < before[0] + 100 and seen.progress < 1:
        await asyncio.sleep(0.05)
    print(f"full disk: {seen.failures - before[0]} refused, {len(seen.acknowledged) - before[1]} kept meanwhile")
    ballast.unlink()


async def campaign(command: list[str], links: list[str], seen: Seen, asked: argparse.Namespace) -> int:
    """Let everybody judge while the server is killed and started again; the number of kills."""
    start = partial(subprocess.Popen, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rng, kills, before, run = random.Random(1), 0, -1, start()
    async with httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_connections=None)) as client:
        tasks = [judge(client, link, seen, random.Random(link)) for link in links]
        work = asyncio.gather(*tasks, fill(asked.full, seen))
        while not work.done():
            # A server that is killed before it saved anything shows nothing.
            if kills < asked.kills and seen.progress > kills / asked.kills and len(seen.acknowledged) > before:
                await asyncio.sleep(rng.uniform(0, 0.5))
                run.kill()
                run.wait()
                kills, before, run = kills + 1, len(seen.acknowledged), start()
            await asyncio.sleep(0.05)
        await work
    run.kill()
    run.wait()
    return kills


def main() -> None:
    """Run it, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judges", type=int, default=20)
    parser.add_argument("--labels", type=int, default=3000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--full", type=Path, help="a small file system of its own, which is filled on the way")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = made_up_plan(asked.labels, Path(folder, "plan"))
        path = (asked.full or Path(folder)) / "plan.sqlite"
        with listening("127.0.0.1", 0) as opened:
            port = str(opened.getsockname()[1])
        store = Store(path, made.id)
        for name in (ORGANISER, *(f"judge {number}" for number in range(asked.judges))):
            store.token(name)
        people = links(store.people(), f"http://127.0.0.1:{port}")
        store.close()
        command = [sys.executable, "-m", "pt_active", "judge", f"{folder}/plan", "--port", port, "--store", str(path)]
        seen, begin = Seen(asked.labels), time.perf_counter()
        kills = asyncio.run(campaign(command, [people[name] for name in people if name != ORGANISER], seen, asked))
        took = time.perf_counter() - begin
        number, store = len(stored_records(path)), Store(path, made.id)
        lost = len(seen.acknowledged - {entry.key.split()[-1] for entry in store.entries()})
        store.close()
    median, most, nearly_all = 1000 * np.quantile(seen.seconds, [0.5, 0.95, 0.99])
    print(f"{asked.judges} judges, {len(seen.acknowledged)} labels acknowledged in {took:.0f} s, {kills} kills")
    print(f"saving a label: median {median:.1f} ms, p95 {most:.1f} ms, p99 {nearly_all:.1f} ms")
    print(f"{number} records kept, {lost} acknowledged labels lost; {seen.failures} requests were sent again")
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
