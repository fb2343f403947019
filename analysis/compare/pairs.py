# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes pairs of runs under equal conditions, and judges their ratios. The two runs of a pair have the same repeat.
Because runs are interleaved, they were made shortly after one another.
"""

import collections
import math

from . import judge

# configuration: the values that must be equal for two runs to be compared. way: the value that differs, such as the
# variant. session: the seed of the runs' order, or else the file of the record. first_look: the repeats before the
# first look of a sequential experiment, or None. value: the value of the metric; None: it was not measured.
Run = collections.namedtuple("Run", "configuration way repeat session is_disturbed first_look value")


def superseded(runs):
    """Returns for each run whether a later run replaces it. runs: (identity, is_disturbed) in the order in which they
    were made. A disturbed run and its repetitions have the same identity. An unplanned run has the identity None.
    """
    runs = list(runs)
    last = {identity: place for place, (identity, _) in enumerate(runs)}
    return [identity is not None and is_disturbed and place < last[identity]
            for place, (identity, is_disturbed) in enumerate(runs)]


def blocks(runs):
    """Returns the name of each run's pair: "repeat.place.session". runs: (key, repeat, session) in the order in which
    they were made. place: the number of earlier runs with the same three values.
    """
    made = collections.Counter()
    names = []
    for key, repeat, session in runs:
        names.append(f"{repeat or 0}.{made[key, repeat, session]}.{session}")
        made[key, repeat, session] += 1
    return names


class Comparison(collections.namedtuple(
        "Comparison", "configuration a b judgment logs blocks values_a values_b first_look", defaults=((), (), None))):
    """The ratios of a metric between the ways a and b in one configuration (a dict). logs: logarithms of the
    pairs' ratios. blocks: the pairs' names. values_a, values_b: the values of the pairs' runs; (): several
    configurations are pooled. first_look: see Run.
    """
    __slots__ = ()

    @property
    def verdict(self):
        return self.judgment.verdict

    def sample(self, better=1):
        return judge.paired(self.logs, better, repeats=[int(block.partition(".")[0]) for block in self.blocks],
                            first_look=self.first_look)


def _with_field_size(configuration):
    return configuration | ({"field_size_bytes": configuration["message_bytes"] / configuration["fields"]}
                            if configuration.get("fields") else {})


def _with_judgments(found, better):
    """Returns the comparisons with their judgments. The comparisons of the same two ways along a row are a family."""
    rows = judge.rows([_with_field_size(c.configuration) for c in found])
    families = [(c.a, c.b, row) for c, row in zip(found, rows)]
    judged = judge.judge_rows([c.sample(better) for c in found], families)
    return [c._replace(judgment=one) for c, one in zip(found, judged)]


def _in_order(values):
    """Returns a key that sorts tuples whose members may be None."""
    return tuple((value is not None, value) for value in values)


def compare(runs, names, pairs, better=1):
    """Compares the pairs (a, b) of ways in each configuration that has both. Returns Comparisons. runs: Runs in the
    order in which they were made. names: the names of a configuration's values. better: 1 if more is better, else -1.
    """
    runs = list(runs)
    known = collections.defaultdict(dict)  # (way, configuration) -> {block: run}
    # A disturbed run has a block, too, so that no later run takes its place in the pair.
    for run, block in zip(runs, blocks(((run.configuration, run.way), run.repeat, run.session) for run in runs)):
        if not run.is_disturbed and run.value is not None and 0 < run.value < math.inf:
            known[run.way, run.configuration][block] = run
    configurations = sorted({run.configuration for run in runs}, key=_in_order)
    found = []
    for a, b in pairs:
        for configuration in configurations:
            of_a, of_b = known.get((a, configuration), {}), known.get((b, configuration), {})
            both = sorted(of_a.keys() & of_b.keys())
            if not both:
                continue
            values = [tuple(side[block].value for block in both) for side in (of_a, of_b)]
            found.append(Comparison(
                dict(zip(names, configuration)), a, b, None, tuple(judge.ratio_logs(zip(*values))), tuple(both),
                *values, first_look=max((of_a[block].first_look or 0 for block in both)) or None))
    return _with_judgments(found, better)


def pooled(found, over):
    """Pools the pairs of comparisons that differ only in the value of `over` in the configuration. Returns Comparisons;
    [] if there is nothing to pool, or if two comparisons of a group contradict each other.
    """
    left_out = judge.with_followers(over)
    groups = {}
    for one in found:
        rest = {key: value for key, value in one.configuration.items() if key not in left_out}
        groups.setdefault((one.a, one.b, *rest.items()), []).append(one)
    if all(len(group) < 2 for group in groups.values()) or any(
            {judge.BETTER, judge.WORSE} <= {c.verdict for c in group} for group in groups.values()):
        return []
    ordered = sorted(groups.items(), key=lambda item: _in_order(value for _, value in item[0][2:]))
    return _with_judgments([group[0]._replace(
        configuration=dict(key[2:]), values_a=(), values_b=(),
        first_look=max(c.first_look or 0 for c in group) or None,
        logs=tuple(log for c in group for log in c.logs),
        blocks=tuple(f"{block}.{c.configuration[over]}" for c in group for block in c.blocks))
        for key, group in ordered], 1)
