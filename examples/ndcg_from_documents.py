"""Which of two rankers has the better nDCG@10? Judge single documents, and compare with whole queries.

    python ndcg_from_documents.py

Both plans have the same budget. The outlook says before judging what error each of them can expect.
"""

from __future__ import annotations

from pt_active import OrderedLogitGrades, Outlook, Plan, Runs
from pt_active.demo.collection import demo_collection

BUDGET = 600


def main() -> None:
    """Plan, judge and compare, by documents and by queries."""
    collection = demo_collection(seed=11, queries=200)
    grades = OrderedLogitGrades(max_grade=3).fit(collection.past_run, collection.past_qrels)
    pool = (Runs(**collection.runs, depth=20) >> grades)(collection.topics)
    for level in ("document", "query"):
        plan = Plan.create(pool, None, "nDCG@10", budget=BUDGET, level=level, seed=1)
        print(plan)
        print(plan.compare(collection.judge(plan.assessments), first="candidate", second="production"))
    outlook = Outlook.of(pool, None, "nDCG@10")
    print(outlook.described(outlook.table([BUDGET])))


if __name__ == "__main__":
    main()
