"""Breaks formulas of the package one at a time, and runs the tests that should fail.

Run ``python tests/mutants.py --out before.json`` before a change of the tests or of the folders, and ``python
tests/mutants.py --against before.json`` after it: mutants killed before must still be killed. ``--dry-run`` only checks
that the formulas and their tests still exist. A mutant names no file: its fragment must occur exactly once in the
package, in any file, and its test modules may be in any folder of ``tests``.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]

TIMEOUT = 1800  # Seconds after which the tests of one mutant are stopped


class Mutant(NamedTuple):
    """A formula and how it is broken, in two lines: ``name [tests]`` and ``old => new``."""

    name: str  # of the formula, and the error in it
    tests: str  # names of the test modules that should fail, in the order in which they run
    old: str  # a source fragment that occurs once in the package
    new: str  # the broken fragment


TABLE = """
# Relevance: what a label is worth
DCG: discount one rank too deep [test_measures]
    1 / np.log2(rank + 1) => 1 / np.log2(rank + 2)
ERR: surely stopped by the highest grade [test_moments]
    / 2.0**max_rel, 1 => / (2.0**max_rel - 1), 1
additive measures: cut a rank early [test_moments]
    np.r_[0.0, form.weights, 0.0] => np.r_[0.0, form.weights[:-1], 0.0, 0.0]
cascade moments: a reader who stops says nothing of the document [test_moments]
    stopped = _with(second / first, => stopped = _with(first,
cascade moments: what is below a place stays as it was [test_moments]
    for j in range(clean, place, -1): => for j in range(place, place, -1):
cascade moments: a reader who goes on says nothing of the document [test_moments]
    given[place] = (first - second) / (1.0 - first) => given[place] = first
cascade moments: every rank is reached [test_moments]
    covariance += reach * weights => covariance += weights
bounds: a difference of equal rankings is not 0 [test_moments]
    return low * differ, high * differ => return low, high
bounds: the last rank that counts is not compared [test_moments]
    ranks[involved] > depth => ranks[involved] >= depth
bounds: a positive weight for the smallest value [test_moments]
    ends = low * contrast, high * contrast => ends = low * np.abs(contrast), high * np.abs(contrast)
bounds: the least of a sum by the best grades [test_moments]
    return np.minimum(*ends), np.maximum(*ends) => return np.maximum(*ends), np.minimum(*ends)
nDCG: ideal ranking beyond the cutoff [test_moments]
    min(count[grade], cutoff - place) => count[grade]
log-length cost: averages one a document [test_pool]
    len(np.unique(query)) / cost.sum() => len(query) / cost.sum()
F: eta of precision and recall swapped [test_losses]
    self.eta * positive + (1 - self.eta) * relevant => (1 - self.eta) * positive + self.eta * relevant
loss moments: covariance not centred [test_losses]
    covariance -= centre[:, :, None] * centre[:, None, :] => pass
Gaussian squared error: fourth moment halved [test_losses]
    within = 2 * of_component**2 => within = of_component**2
introspection: a proportion may be next to 1 [test_losses]
    rules.append((1 - MIN_RISK_SHARE * (1 - risk), -1.0, 0.0)) => pass
introspection: ten times the least risk [test_losses]
    MIN_RISK_SHARE = 0.01 => MIN_RISK_SHARE = 0.1
ordered logit: gradient of the prior without its square [test_models]
    (by_upper + by_lower) + slopes / prior_scale**2 => (by_upper + by_lower) + slopes / prior_scale
ordered logit: the prior that is least likely for other queries [test_models]
    _SCALES[rounded(likelihood).argmax()] => _SCALES[rounded(likelihood).argmin()]
recalibration: prior centred at no trust [test_recalibration]
    prior = len(labels), parameters - np.r_[np.zeros(len(parameters) - 1), 1.0] => prior = len(labels), parameters
classes: prior deviations are added unsquared [test_surprises]
    = (FLOOR * deviation[i]) ** 2 => = FLOOR * deviation[i]
classes: the covariate moves every class alike [test_surprises]
    shift[0] + shift[1] * covariate[z] => shift[0] + covariate[z]
# Sampling
clipped probabilities: certain units cost nothing [test_error_curve]
    budget - float(cost[certain].sum()), size => budget, size
priority sampling: threshold of the last drawn [test_laws]
    np.take_along_axis(priority, distinct, axis=1) => np.take_along_axis(priority, distinct - 1, axis=1)
draws to a budget: what just fits is left out [test_draws]
    return spent <= budget * (1 + _ROUNDING) => return spent < budget
draws with replacement: counted from the beginning [test_draws]
    end - np.maximum(arrival[drawn], start) => end - start
draws without replacement: importance without n [test_draws]
    self.draws[..., None] * self.of(weight) / self.expected => self.of(weight) / self.expected
design assisted: the mean variance is forgotten [test_designs]
    return variance + weight @ variance => return variance
design optimal: the plain mean [test_designs]
    (mean - weight @ mean) ** 2 + variance => (mean - mean.mean()) ** 2 + variance
designs: cost without its root [test_designs]
    if part.uniform_cost else np.sqrt(cost) => if part.uniform_cost else cost
difference: covariance taken off once [test_designs]
    - 2 * covariance[:, first, second] => - covariance[:, first, second]
null replays: all repetitions swapped alike [test_replay]
    (np.where(traded, -each, each) for => (np.where(traded[:1], -each, each) for
Monte Carlo error: none for a share of 0 [test_replay]
    repetitions + 2) / (repetitions + 4) => repetitions) / repetitions
pivotal draws: holder and rival swapped above 1 [test_steps]
    (2.0 - both) < 1.0 - held: => (2.0 - both) < 1.0 - inclusion[rival]:
document design: inclusion not given its query is open [test_document_design]
    planned / opening[query] => planned
depths: chances move without regard to cost [test_two_phase]
    chance[other] -= moved / swing[other] => chance[other] -= moved / swing[one]
depths: a cut query forgets that it might have stayed whole [test_two_phase]
    chance[order[beyond]] = 1 - 1 / len(can) => chance[order[beyond]] = 1.0
differences of cascades: a tenth is mixed in [test_document_design]
    MIXED_SHARE = 0.01 => MIXED_SHARE = 0.1
differences of cascades: a document whose gradient vanishes is never drawn [test_document_design]
    MIXED_SHARE * (gradient[a] ** 2 => 0 * (gradient[a] ** 2
two-phase draw: chance of opening as designed, not as drawn [test_laws]
    law.inclusion(rate[drawn] * threshold) => law.inclusion(rate[drawn])
two-phase draw: queries that are certain come by exponential clocks [test_two_phase]
    new, [left], 1, rng, UNIFORM)).first => new, [left], 1, rng)).first
successive sampling: the inclusion of uniform clocks [test_laws]
    lambda rate: -np.expm1(-rate) => lambda rate: np.minimum(1.0, rate)
successive sampling: uniform clocks [test_laws]
    rng.exponential(size=shape) => rng.random(shape)
depth draw: documents of a query apart [test_two_phase]
    number[query] < design.chance(query) => rng.random(len(query)) < design.chance(query)
successive draws: chance at the planned threshold, not where drawing ended [test_successive]
    .inclusion(rate * threshold) => .inclusion(rate)
successive draws: threshold of the last drawn [test_successive]
    self.priority[order[documents]] => self.priority[order[max(documents - 1, 0)]]
successive draws: rates are the planned chances [test_successive]
    else -np.log1p(-planned) => else planned
successive draws: the budget is planned as if all could be certain [test_successive]
    spend / most) => spend)
successive draws: opening paid by every document [test_successive]
    self.overhead * first)) => self.overhead))
successive sizes: no share for the range [test_successive]
    (1 - RANGE_SHARE) * by_model / by_model.sum() + RANGE_SHARE * by_range / by_range.sum() => by_model / by_model.sum()
openings: not paid for by the budget of the documents [test_document_design test_successive]
    optimize.brentq(excess, _ROUNDING * budget, budget) => budget
strata: allocation by the root of the variance's share [test_ratios]
    wanted**2 / (drawn * (drawn + 1)) => wanted / (drawn * (drawn + 1))
one at a time: chance among all instead of the rest [test_steps]
    size[first] / remaining[:number] => size[first] / size.sum()
pool: what is kept is told apart by shapes alone [test_document_estimators]
    repr((array.shape, array.dtype)) => repr(array.shape)
# Inference from queries
snis variance: shares not squared [test_estimators]
    (share * centred) ** 2 => share * centred**2
snis: degrees of freedom of the draws [test_estimators]
    importance)), degrees_left(sample, importance, 1) => importance)), sample.draws - 1.0
snis and regression without replacement: no 1 − π [test_samples_of_queries]
    return 1.0 if self.repeated else 1 - self.expected => return 1.0
ht variance: n for n − 1 [test_estimators]
    centred**2) / (n - 1) / n => centred**2) / n / n
ht variance: not centred [test_estimators]
    once * values - value[..., None] => once * values
regression variance: the slope of all draws [test_estimators]
    (y - left_out * x) / (1 - own) => (y - slope * x) / (1 - own)
regression variance: no distance from the others [test_estimators]
    (y - left_out * x) / (1 - own) => (y - left_out * x)
regression: a doubtful line counts whatever the spread [test_estimators]
    spread.both / (spread.model + wanting) => spread.both / spread.model
regression: slope not shrunk [test_estimators]
    * np.maximum(0.0, 1 - inverse) => * 1.0
regression: slope of all draws where the line is sure [test_estimators]
    (1 - sure) * slope + sure * left_out => slope
regression: rounding makes a line [test_estimators]
    np.where(s > least, s, 0.0) => s
regression: a certain draw is corrected too [test_ratios]
    _dot(total * sample.left, apart) => _dot(total, apart)
default design: few draws as many [test_designs]
    (PASSIVE_DRAWS / draws) ** 2 => 0.0
degrees of freedom: certain draws count [test_reference]
    effective_size(sample.count, importance * sample.left) => effective_size(sample.count, importance)
reference: grades as the model has them [test_reference]
    (observed + _PRIOR_DOCUMENTS) / (expected + _PRIOR_DOCUMENTS) => 1.0
reference: the ends change places [test_reference]
    (errors[rank], -errors[len(errors) - 1 - rank]) => (-errors[len(errors) - 1 - rank], errors[rank])
reference: few degrees do not count [test_reference]
    if replays.degrees < FEW * degrees: => if False:
reference: samples without an error count as right [test_reference]
    np.copysign(np.inf, error), 0.0) => 0.0 * error, 0.0)
reference: labels of what was not drawn are certain [test_reference]
    labels.sign * missed * drawn.normal => 0.0 * missed * drawn.normal
reference: opening is certain [test_reference]
    chance = self.redraws.design.chance(pool.query)[row] => chance = self.redraws.design.inclusion[row]
interval: quantile of one side [test_estimators]
    np.where(usable, degrees, 1.0), (1 + confidence_level) / 2) => np.where(usable, degrees, 1.0), confidence_level)
score interval: variance of a share without 1 − y [test_estimators]
    error**2 / (inside * (1 - inside / width)) => error**2 / inside
corrections: Bonferroni for Holm [test_estimators]
    np.maximum.accumulate(left * pvalues[order]) => np.maximum.accumulate(len(left) * pvalues[order])
corrections: Bonferroni for others [test_estimators]
    alpha=alpha, method=method)[:2] => alpha=alpha, method="bonferroni")[:2]
leaderboard: claims from the least sure on [test_leaderboard]
    np.argsort(-pvalues[first, second], => np.argsort(pvalues[first, second],
leaderboard: errors of twice the variance [test_leaderboard]
    -centring @ of_pairs**2 @ centring / 2 => -centring @ of_pairs**2 @ centring
leaderboard: the least difference to the best [test_leaderboard]
    largest = np.max([errors.of_pair(b, a) => largest = np.min([errors.of_pair(b, a)
leaderboard: intervals of one side [test_leaderboard]
    joint = 2 * float( => joint = float(
leaderboard: ranks from below [test_leaderboard]
    1 + better.sum(axis=0), len(better) - better.sum(axis=1) => 1 + better.sum(axis=1), len(better) - better.sum(axis=0)
leaderboard: the winner's own likelihood [test_leaderboard]
    values[winner] - posterior[winner] @ grid => values[winner] - likelihood[winner] @ grid / likelihood[winner].sum()
certificate: pairs that the judge ties count [inference/test_certificate]
    sign[:, judge[:rank] > judge[rank]] => sign[:, judge[:rank] >= judge[rank]]
certificate: estimates as they are [inference/test_certificate]
    (variance * value + error * drawn) / root**2 + => value +
certificate: errors of the judge are independent [inference/test_certificate]
    own * error.mean() + common * error for => own * error.mean() + 0 * common * error for
certificate: no judge is right [inference/test_certificate]
    _ODDS = np.arange(8) / np.arange(8, 0, -1) => _ODDS = np.arange(3, 8) / np.arange(5, 0, -1)
certificate: intervals of each family alone [inference/test_certificate]
    [:, None]).max(axis=0) => [:, None])[0]
Tukey: no root of 2 [test_significance]
    np.sqrt(2) * absolute_statistic( => absolute_statistic(
Nadeau–Bengio: test sets of 1/K [test_crossval]
    overlap = 1 / (folds - 1) => overlap = 1 / folds
calibration: plain mean of the expectations [test_calibration]
    centred, deviation = mean - weight @ mean => centred, deviation = mean - mean.mean()
bets: the draw weighted as if all units were left [test_bets]
    (values / self.rate)[..., :draws] * self.left[:draws] => (values / self.rate)[..., :draws] * self.left[0]
bets: what is known does not enter the sum [test_bets]
    sum()) + _so_far(error, draws), => sum()) + 0 * _so_far(error, draws),
bets: the cap of the mirrored bets from the wrong side [test_bets]
    for name in ("ends", "reach", "bounds", "bases") => for name in ("ends", "bounds", "bases")
bets: the worst draw of the unit drawn, not of all that are left [test_bets]
    np.maximum.accumulate(most[:, ::-1], axis=1)[:, ::-1] * self.left => most * self.left
bets: a draw can lose more than everything [test_bets]
    LARGEST_STAKE = 0.95 => LARGEST_STAKE = 1.5
bets: a stake knows the draw that it is on [test_bets]
    self._trust(every, square)[:-1] => self._trust(every, square)[1:]
bets: excluded at half of the capital [test_bets]
    stakes.share.copy(), 1 / alpha => stakes.share.copy(), 0.5 / alpha
bets: the lower bound of what is known from the upper [test_bets]
    np.where(known, ends - bounds, 0.0) => np.where(known, ends[::-1] - bounds[::-1], 0.0)
bets: rounding excludes [test_bets]
    draws.least > truth + draws.rounding => draws.least > truth
bets: the upper end at the level of both [test_bets]
    _end(draws.mirrored, stakes, alpha / 2) => _end(draws.mirrored, stakes, alpha)
holm: all hypotheses count as if nothing were rejected [test_bets]
    np.arange(evidence.shape[-1], 0, -1) => evidence.shape[-1]
foresight: growth without its half [stopping/test_verdicts]
    bet * score - 0.5 * bet**2 => bet * score - bet**2
foresight: caps from the wrong sides [stopping/test_verdicts]
    (1.0, ahead.down) if claim.above else (-1.0, ahead.up) => (1.0, ahead.up) if claim.above else (-1.0, ahead.down)
foresight: one claim is enough for a verdict [stopping/test_verdicts]
    done |= np.all([ => done |= np.any([
units: half of what a label is worth [test_sequence]
    np.where(label >= 0, weight * form.values[label] => np.where(label >= 0, weight / 2 * form.values[label]
verdict: each claim at the level of both sides [answers/test_verdict]
    proved_after(claim, proof, alpha / 2) => proved_after(claim, proof, alpha)
gate: each outcome at the level of both sides [answers/test_gate]
    proved_after(claim, proof, alpha / 2) => proved_after(claim, proof, alpha)
verdict: what is false for certain stays [stopping/test_verdicts]
    kept = not any(refuted(claim, draws) for claim in claims) => kept = True
verdict: a claim on new queries as if they were the pool's [test_boundaries answers/test_gate]
    claim.value + (apart if claim.above else -apart) => claim.value
releases: levels that do not add up [cli/test_ledger coverage/test_releases]
    / (np.pi * number) ** 2 => / np.pi**2 / number
ledger: a release begins again with each look [cli/test_ledger]
    keys = ASKED if line["looks"] is not None else (*ASKED, "labels") => keys = (*ASKED, "labels")
later rankers: documents outside the pool are asked about [plans/test_document_plans]
    1 - (1 - outside) * known => 1 - known
gate: an interval that few queries carry decides at the end [answers/test_gate]
    state.judged == state.drawn and not state.population.enough => False
new queries: any number of them may differ [test_new_queries]
    return self.differing + more >= MIN_GROUPS and => return
new queries: means lie apart by all degrees of freedom [test_new_queries]
    min(degrees, self.shown), 1 - alpha / 2) * error => degrees, 1 - alpha / 2) * error
new queries: t without the skewness [test_new_queries]
    far = 1 + abs(skewness) * (1 + 2 * t**2) / (3 * t) => far = 1 + 0 * abs(skewness)
new queries: the wrong tail is long [test_new_queries]
    if skewness > 0 else Tails(far, 1.0, degrees) => if skewness < 0 else Tails(far, 1.0, degrees)
verdict: the intervals of all pairs at the level of one [test_verdict]
    interval(draws, proof.stakes, alpha / len(proofs)) => interval(draws, proof.stakes, alpha)
until known: the value on the other side of the truth [test_outlook]
    float(draws.base[-1]) - difference => float(draws.base[-1]) + difference
until known: errors of the model as it expects them [test_outlook]
    np.sqrt(scale) * (each.contribution - each.units.mean) => (each.contribution - each.units.mean)
clocks: uniform for exponential [test_clocks]
    np.asarray(-np.log(np.minimum((bits => np.asarray((np.minimum((bits
verdict: within the margin at the near end [test_boundaries]
    Claim(-edge, True, True), Claim(edge, False, True) => Claim(-edge, False, True), Claim(edge, True, True)
look ahead: the estimate is taken for the truth [test_boundaries]
    now.value[0] + np.sqrt(variance) * rng => now.value[0] + 0 * rng
error curve: 1/ψ for 1/ψ − 1 [test_error_curve]
    self.gain @ (1 / self.chance(budget) - 1) => self.gain @ (1 / self.chance(budget))
power: one side only [test_error_curve]
    + special.ndtr(-signal - quantile * ratio) => + 0 * ratio
power: too few nodes [test_error_curve]
    _NODES = 400 => _NODES = 200
power: nodes evenly spaced [test_error_curve]
    even**2 * (3 - 2 * even)) / degrees) => even) / degrees)
planned looks: too few nodes [test_boundaries]
    _NODES = 160 => _NODES = 80
# Inference from documents
documents, first phase: chance not squared [test_document_estimators]
    (1 - opening) * (weight * step) ** 2 => (1 - opening) * weight * step**2
documents, depth: covariance of steps once [test_document_estimators]
    step * (inverse - 1) + 2 * before => step * (inverse - 1) + before
documents: lines weighted by the root of the chance [test_document_estimators]
    pool.weight[query] * np.sqrt(1 - chance) / chance => pool.weight[query] * np.sqrt(1 - chance) / np.sqrt(chance)
cascade steps: each from the beginning [test_document_design]
    before[s] = after => before[s] = before[s]
extended plans: to the new budget alone [test_extension]
    budget, prices = made.limit + more, => budget, prices = more,
extended depths: numbers of queries are drawn afresh [test_two_phase]
    np.where(chance <= before.priority, chance, 0.0) => 0.0
cut order: labels after the gap count [test_extension]
    np.logical_and.accumulate(has_label[self.order]).sum() => has_label[self.order].sum()
documents: caution is added to what labels show [test_document_estimators]
    max(cautious - estimate.variance, 0.0) => cautious
documents: degrees of freedom without the kurtosis [test_document_estimators]
    _ratio(3 * parts.sum() ** 2, (parts**2).sum()) - 1 => _ratio(parts.sum() ** 2, (parts**2).sum()) - 1
# Inference from rounds, and risks of pairs
LUR: inverse variances of the step before [test_weightings]
    size / (left[:-1] * left[1:]) => size / left[:-1] ** 2
LUR variance: n for n − 1 [test_weightings]
    np.where(spread, number / (number - 1), 1.0) => np.ones_like(number)
rounds of pairs: residuals with the label in its own statistic [test_weightings]
    evaluated.gradient * (1 - share) / (1 - evaluated.own_share) => evaluated.gradient
AILUR and AIIPW variance: no 1 − π [test_weightings]
    left = np.where(pi < 1 - _CERTAIN, 1 - pi, 0.0) => left = np.where(pi < 1 - _CERTAIN, 1.0, 0.0)
AILUR: a round's chance among all instead of the rest [test_weightings]
    (steps.step == 0) | (steps.step >= step) => steps.step >= 0
kernel: an outcome predicts itself [test_weightings]
    np.divide(total - outcome, weight - 1, out => np.divide(total - outcome, weight, out
AUC: ties do not count [test_weightings]
    below[order] = (sums[first] + sums[last]) / 2 => below[order] = sums[first]
LUR variance: a single draw measured from a mean that contains it [test_weightings]
    / np.maximum(1 - weight, _CERTAIN), 0.0) => / 1, 0.0)
difference of risks: share of the domain forgotten [test_ratios]
    (pair_weight * first.expected_weight).sum() => (pair_weight * weight).sum()
difference of risks: as many labels as the ratio that rests on more [test_ratios]
    np.minimum(first.effective, second.effective), => np.maximum(first.effective, second.effective),
difference of risks: says the effective size of the risk that rests on more [risk/test_audit]
    effective = min(effective_size(self => effective = max(effective_size(self
risk as a ratio: degrees of freedom of pairs that do not count [test_ratios]
    mean.degrees_of_freedom - idle => mean.degrees_of_freedom
strata: no finite population correction [test_ratios]
    share**2 * (1 - drawn / size) * spread / drawn => share**2 * spread / drawn
# Plans and what is read off them
pool: the last rank that counts is not seen [test_plan]
    (ranks > 0) & (ranks <= cutoff) => (ranks > 0) & (ranks < cutoff)
extension of queries: on top of what was spent, not of the budget [test_queries]
    total = manifest.limit + budget => total = manifest.spent + budget
status: hopeless below three in a hundred [answers/test_status]
    _MIN_CHANCE = 0.05 => _MIN_CHANCE = 0.03
looks at parts: an interval where there is none at the end [test_looks]
    np.nan if fields["degenerate"] else fields["standard_error"] => fields["standard_error"]
error curve: queries drawn by the law of documents [test_error_curve test_outlook]
    share=weight, fitted=kind.fitted, law=EXPONENTIAL) => share=weight, fitted=kind.fitted)
time by which units cost a budget: only one step [test_error_curve]
    if step <= _PRECISION * factor: => if step <= factor:
contributions: what was expected minus what came [test_contributions]
    effect = -(pool.grades * self.changes( => effect = (pool.grades * self.changes(
slices: importance of the whole pool [test_contributions]
    (count.sum() / self.draws) / self.q[inside].sum() => (count.sum() / self.draws)
ranking: the worst first [test_ranking]
    (1 if judged.lower_is_better else -1) => (-1 if judged.lower_is_better else 1)
savings: of the budget needed [test_replay]
    np.asarray(1 - needed / spend) => np.asarray(1 - spend / needed)
# Files, tools and pages
stored tables: a changed table is read [test_faults]
    if hashlib.sha256(content).hexdigest() != known => if not content
TREC files: a wrong line after blank ones has the number of the one before [test_trec]
    np.flatnonzero(np.diff(ends, prepend=-1) > 1) + 1 => np.flatnonzero(np.diff(ends, prepend=-1) > 1)
tables: cells in a column without a name [test_tables]
    if not name and cell.strip() and column: => if not name and cell.strip() and column > 1:
topics: the field goes on to the end of the topic [test_trec]
    (.*?)(?=</?[a-z]+>|\\Z)", topic => (.*)", topic
deliveries: the label contradicts the status [test_files]
    if said not in ("", status): => if False:
deliveries: a note without a grade is no record [test_files]
    if status or item.note.strip(): => if status:
labels: numbers above every grade are words [test_files]
    grade is not None and SPAM <= grade <= HIGHEST_LABEL: => grade is not None and SPAM <= grade:
labels of files without an annotator may contradict the records [test_files]
    plain.append(qrels_of(pd.concat(records => records.append(qrels_of(pd.concat(records
Label Studio: a cancelled annotation counts [test_files]
    about.get("was_cancelled") or label is None => label is None
answers: alike is what the others to the item have [answers/test_comparison]
    by_item.transform("sum") - own) / others => by_item.transform("sum")) / others
answers: who agrees is surer [answers/test_comparison]
    alike * sure + (1 - alike) * vague => alike * vague + (1 - alike) * sure
answers: scores of a judge steer items [answers/test_comparison]
    **(how if known else {})} => }
answers: a past answer's own system tells of it [answers/test_history]
    rows.item, count) - _summed(*own, count) => rows.item, count)
answers: doubt where the better system may be favoured [test_document_design]
    step * terms.sum() > 0, mean - low => step * terms.sum() < 0, mean - low
sharing: a judge who was seen lately has lost the documents [test_sharing]
    max(at, self.seen.get(name, 0.0)) => at
records: of a judge the last row, whatever the time [test_records]
    return np.argsort(times.to_numpy(), kind="stable") => return np.arange(len(records))
rounding: just below a hundred percent is all [test_charts]
    percent < 10 or percent > 99 else => percent < 10 else
rounding: an interval without 0 seems to touch it [test_charts]
    near < 0.5 * 10.0**-places: => near < 0.0 * places:
pages: rows that are left out are not counted [test_charts]
    right, len(table) - len(head) => right, 0
charts: the ways to sample change their order [test_charts]
    known.groupby(["level", "design"], sort=False) => known.groupby(["level", "design"])
# Units, looks and forecasts
cut plans: a plan that was cut twice says what the second began with [plans/answers/test_gaps]
    before.of if before else order.drawn, n => order.drawn, n
blocks: documents of queries in their order in the pool [test_sequence answers/test_status]
    np.argsort(place[order], kind => np.argsort(pool.query_of_document[order], kind
sequence: waits for a document that is judged [test_sequence answers/test_status]
    lacking = wanted[~has[wanted]] => lacking = wanted[:1]
sequences: what is drawn is paid again [test_looks]
    - prices.spent(drawn)).sum() => ).sum()
parts: the first parts are as probable as the whole [test_two_phase]
    opening=sample.design.opening * share => opening=sample.design.opening
forecast: the whole budget for a part of the queries [test_level]
    if budget is None else budget * share => if budget is None else budget
forecast: a caution for queries that only documents can have [test_level]
    if defensive is None or (design == DESIGN and defensive > 1) else defensive => if defensive is None else defensive
forecast: common errors without the weights of queries [test_level]
    np.asarray(seen.weight**2 * COMMON_SHARE * => np.asarray(COMMON_SHARE *
# Replays
replays: swapped documents are those of the others [test_replay]
    seen.ranks[::-1], seen.ranks)) => seen.ranks, seen.ranks[::-1]))
replays: the caution of the smallest budget [test_replay]
    defensive_share(budgets[-1] / float => defensive_share(budgets[0] / float
savings: an error that grew again [test_replay]
    squared[1:] < np.minimum.accumulate(squared)[:-1]] => squared[1:] < np.inf]
# Surprises, looks and files
successive draws: the law of the drawing by surprises [test_successive]
    EXPONENTIAL if design.drawing == SUCCESSIVE else UNIFORM => UNIFORM if design.drawing == SUCCESSIVE else EXPONENTIAL
surprises: uniform clocks are exponential [test_successive]
    own = clock if design.drawing == SUCCESSIVE else EXPONENTIAL.inclusion(clock) => own = clock
successive draws: the dearest document without its opening [test_successive]
    prices.overhead + float(prices.cost[design.order].max()) => float(prices.cost[design.order].max())
successive draws: the one at the threshold is drawn too [test_successive]
    self.priority < threshold => self.priority <= threshold
surprises: gains by the weight of a query, not its square [test_surprises]
    defensive)) * pool.weight[pool.query] ** 2) => defensive)) * pool.weight[pool.query])
surprises: a pool without any effect has no sizes [test_surprises]
    np.where(average > 0, defensive * average, 1.0) => defensive * average
surprises: the cautious error of documents that cannot be drawn [test_surprises]
    weight = pool.weight[pool.query] ** 2 * (chance > 0) => weight = pool.weight[pool.query] ** 2
surprises: each part has the foreseen error of another [test_surprises]
    zip(chances, together, strict=True) => zip(chances, together[::-1], strict=True)
surprises: caution for all weight, not for what is left [test_surprises]
    error + left * _added( => error + pool.weight.sum() * _added(
surprises: queries in which no pair differs are drawn [test_surprises]
    gain = gain * pool.ever_differs(pairs)[pool.query] => pass
surprises: single rankers are served unasked [test_surprises]
    single if settings.serves_singles and k > 1 else None => single if k > 1 else None
surprises: the variance of an effect not centred [test_surprises]
    np.maximum(square - mean_effect**2, 0.0) => np.maximum(square, 0.0)
surprises: odds of the class K without those of others [test_surprises]
    odds = np.log(share) - np.log1p(-share) => odds = np.log(share)
surprises: a query corrects its own model [test_surprises]
    np.arange(queries) % FOLDS, np.ones => np.arange(queries) % 1, np.ones
misfit: the fourth cumulant of an event [test_surprises]
    spread * (1 - 6 * spread) => spread * (1 - 3 * spread)
misfit: the class K is no part of the queries [test_surprises]
    (1 - single) * empty, single] => empty, 0.0]
misfit: queries without a relevant document are as the others [test_surprises]
    (1 - empty) * np.exp(logs), (1 - single) * empty => np.exp(logs), 0.0
surprises: a query with a relevant document may have none [test_surprises]
    np.where(number > 0, -np.inf, 0.0), np.where => np.zeros(len(number)), np.where
surprises: labels say something of a query without a relevant document [test_surprises]
    _between(self.effect, other.effect, without), => self.effect,
surprises: the share of queries without a relevant document is known [test_surprises]
    for share in (chosen.of_empty.fewest, chosen.of_empty.most): => for share in (chosen.of_empty.best,) * 2:
surprises: the recalibration counts queries without a relevant document [test_surprises]
    counts = logistic(np.log1p(-share) - np.log(share) - advantage) => counts = np.ones(queries)
misfit: the slope is not taken off [test_surprises]
    (n**2 - two - slope * n).sum() => (n**2 - two).sum()
surprises: no distance between classes is tried but the best [test_surprises]
    for near in (best - 1, best + 1): => for near in ():
surprises: contrasts of many rankers have classes of their own [test_surprises]
    np.flatnonzero(contrast) if len(contrast) <= OWN_CLASSES => np.flatnonzero(contrast) if True
recalibration: no ridge on what all logits have in common [test_surprises]
    _COMMON, _SLOPE, _THRESHOLD = 0.1, 2.0, 1.0 => _COMMON, _SLOPE, _THRESHOLD = 1e-9, 2.0, 1.0
parts: the smallest error of all that gaps allow [test_gaps]
    standard_error=np.r_[high[:, 1], unknown] => standard_error=np.r_[low[:, 1], unknown]
planned looks: spent on one side [test_boundaries]
    4 * special.ndtr(special.ndtri(alpha / 4) => 2 * special.ndtr(special.ndtri(alpha / 2)
look ahead: the error falls as the variance does [test_boundaries]
    now.standard_error[0] * np.sqrt(now.time[0] / self.time) => now.standard_error[0] * (now.time[0] / self.time)
cost to resolve: an even chance is enough [test_boundaries]
    half = looks.half_width + _spare(goal) * looks.standard_error => half = looks.half_width
looks: gaps do not widen intervals [test_gaps]
    return self.open + np.where(np.isinf => return np.where(np.isinf
goal: new queries ask for a wider interval [test_boundaries]
    Goal(half_width=self.half_width - apart) => Goal(half_width=self.half_width + apart)
cost of one look: the nearest of the claims [test_boundaries]
    return max(min(_distance(claim, value) => return min(min(_distance(claim, value)
labels: spam is a grade of its own [test_trec]
    np.where(label == SPAM, 0, label) => np.where(label == SPAM, 3, label)
labels: none is too high [test_columns]
    (label >= SPAM) & (label <= HIGHEST_LABEL) => (label >= SPAM)
labels: what is not needed is missing too [test_active_test]
    lacking = drawn & needed & ~known => lacking = drawn & ~known
runs: minus 0 is below 0 [test_columns]
    bits = (score + np.float32(0)).view => bits = score.copy().view
runs: ties contradict ranks [test_columns]
    (query[1:] == query[:-1]) & (score[1:] < score[:-1]) => (query[1:] == query[:-1])
pool: documents in the order of the last ranker [test_pool]
    for s in range(len(ranks))[::-1]: => for s in range(len(ranks)):
ranks: scores are compared across queries [test_pool]
    ((single[1:] > single[:-1]) & same).sum() => (single[1:] > single[:-1]).sum()
promises: single documents have no bias [test_promises]
    if tables.documents and tables.documents.sample.design.drawing == SURPRISES: => if False:
promises: AP and nDCG assume nothing of what is outside [test_promises]
    assumed = [f"documents outside the pool are not relevant{outside}"] => assumed = []
runs: one document more than the depth [test_ecosystem]
    order[rank < depth], rank[rank < depth] => order[rank <= depth], rank[rank <= depth]
ranks: one query that begins late is enough [test_pool]
    late[place == 0].all() => late[place == 0].any()
parts: a gap counts once the next part alone has labels [plans/answers/test_gaps]
    begun = np.logical_or.accumulate(later[::-1])[::-1] => begun = later
parts: sets of labels of each part alone [plans/answers/test_gaps]
    ** np.cumsum(self.lacking) => ** self.lacking
sequence: certain units have no variance [plans/answers/test_sequence]
    RANGE_VARIANCE = 1e-3 => RANGE_VARIANCE = 0.0
"""

MUTANTS = [Mutant(*parts) for parts in re.findall(r"^(\w.+) \[(.+)\]\n    (.+) => (.+)$", TABLE, re.MULTILINE)]


class Verdict(NamedTuple):
    """The outcome of a mutant."""

    outcome: str  # killed, lived, not found or error
    by: str  # the test that failed, or the reason why none did


def main() -> int:
    """Run the requested mutants; return 1 if a mutant that was killed before is not killed now."""
    parser = argparse.ArgumentParser(description="Breaks formulas and runs the tests that should notice.")
    parser.add_argument("--only", default="", metavar="WORD", help="only mutants with this word in their names")
    parser.add_argument("--jobs", type=int, default=1, help="number of mutants tested at once")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file for the results, as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="earlier results to compare with")
    parser.add_argument("--dry-run", action="store_true", help="only check that the formulas and their tests exist")
    arguments = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if arguments.only in mutant.name]
    verdicts = {mutant.name: Verdict("not found", why) for mutant in chosen if (why := lacking(mutant))}
    todo = [mutant for mutant in chosen if mutant.name not in verdicts and not arguments.dry_run]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        trees: Queue[Path] = Queue()
        for number in range(arguments.jobs if todo else 0):
            trees.put(copy_of_the_tree(Path(folder) / str(number)))
        found = tqdm(pool.map(tested, todo, repeat(trees)), total=len(todo), disable=not todo)
        for mutant, verdict in zip(todo, found, strict=True):
            verdicts[mutant.name] = verdict
            if arguments.out:
                content = {name: each._asdict() for name, each in verdicts.items()}
                arguments.out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, verdict in sorted(verdicts.items()):
        print(f"{verdict.outcome:9}  {name}  [{verdict.by}]")
    counts = Counter(verdict.outcome for verdict in verdicts.values())
    said = [f"{number} {outcome}" for outcome, number in counts.items()]
    print(f"{len(chosen)} mutants: {', '.join(said) or 'all found'}")
    before = json.loads(arguments.against.read_text("utf-8")) if arguments.against else {}
    table = {mutant.name for mutant in MUTANTS}
    killed = [name for name, verdict in before.items() if verdict["outcome"] == "killed"]
    now = {name: verdicts.get(name, Verdict("gone from the table", "")).outcome for name in killed}
    lost = [name for name in killed if now[name] != "killed" and (name in verdicts or name not in table)]
    for name in lost:
        print(f"killed before, now {now[name]}: {name}")
    return int(bool(lost))


def places(mutant: Mutant) -> list[Path]:
    """The files that contain the fragment, one entry per occurrence."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "pt_active").rglob("*.py")))
    return [path.relative_to(ROOT) for path, text in texts for _ in range(text.count(mutant.old))]


def modules(mutant: Mutant, tree: Path) -> list[Path]:
    """The files of the mutant's test modules."""
    return [path for name in mutant.tests.split() for path in (tree / "tests").rglob(f"{name}.py")]


def lacking(mutant: Mutant) -> str:
    """What is wrong with where the mutant says that its formula and its tests are, or nothing."""
    if (number := len(places(mutant))) != 1:
        return f"in {number} places"
    missing = [name for name in mutant.tests.split() if len(modules(mutant._replace(tests=name), ROOT)) != 1]
    return f"tests: {' '.join(missing)}" if missing else ""


def copy_of_the_tree(folder: Path) -> Path:
    """Copy the files that git tracks, with their times, so that compiled code stays valid."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def tested(mutant: Mutant, trees: Queue[Path]) -> Verdict:
    """Break the formula in a free copy of the tree, run the tests, and restore the formula."""
    tree = trees.get()
    broken = tree / places(mutant)[0]
    times, text = broken.stat(), broken.read_text(encoding="utf-8")
    try:
        broken.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        # Compiled code may have inlined functions of this file, which the cache does not detect.
        with tempfile.TemporaryDirectory() as fresh:
            return run(modules(mutant, tree), tree, fresh if "_compiled" in text else tree / ".numba")
    finally:
        broken.write_text(text, encoding="utf-8")
        os.utime(broken, ns=(times.st_atime_ns, times.st_mtime_ns))
        trees.put(tree)


def run(tests: list[Path], tree: Path, compiled: str | Path) -> Verdict:
    """Run test modules in a copy of the tree."""
    # No .pyc files: one would count as current for a mutant of the same length written within the same second.
    environment = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(compiled)}
    options = ["-m", "", "-x", "-n", "0", "-q", "-rfE", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *map(str, tests)]
    how = partial(subprocess.run, cwd=tree, env=os.environ | environment, capture_output=True, text=True)
    try:
        done = how(command, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Verdict("error", f"its tests took more than {TIMEOUT} seconds")
    if done.returncode == 0:
        return Verdict("lived", "")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed:
        return Verdict("killed", failed[1])
    return Verdict("error", f"pytest ended with {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}")


if __name__ == "__main__":
    sys.exit(main())
