# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Facts about the JSON of analyze advise, and words that advise and report share."""

SCHEMA = "sendpath.advise/3"
LONGEST = 1 << 20  # the most bytes of a file of this schema
RECEIVER_LIMITS = 0.5  # the receiver's window is reported as a limit above this share of the time
# The variants with which zero-copy is compared, and the metrics. The first metric that shows a difference decides.
CALLS = {"twocopy": "send()", "onecopy": "sendmsg()"}
METRICS = {"cpu": "CPU time per byte", "throughput": "throughput"}


def changes(answer, size, every=", "):
    """Returns, in words, the sizes at which zero-copy is better, and worse. size: returns a number of bytes in words.
    every: the text after "better" or "worse" if that holds at every size tried.
    """
    if not answer.ratios:
        return "not measured"
    tried = f"{every}{size(answer.ratios[0].size)} to {size(answer.ratios[-1].size)}"
    worse, better = (size(count) if count else "" for count in (answer.worse, answer.better))
    undecided = [ratio.size for ratio in answer.ratios if ratio.verdict == "inconclusive"]
    above = [count for count in undecided if count > (answer.better or count)]
    below = [count for count in undecided if count < (answer.worse or count)]
    on = f"better from {better} " + (f"(open at {size(above[-1])})" if above else "on")
    up = f"worse up to {worse}"
    alike = len({ratio.verdict for ratio in answer.ratios}) == 1
    return {"from": f"{on}, {up if worse else 'not known below'}",
            "always": f"better{tried}" if alike else on,
            "never": f"worse{tried}" if alike else up + (f" (open at {size(below[-1])})" if below else ""),
            "alike": "no difference found",
            "irregular": f"better at {better}, but worse at {worse}",
            "unknown": f"{up}, not known above"}[answer.kind]


def budget(result):
    """Returns the --budget that would probably decide the rest, with some seconds to examine the path again."""
    return f"--budget {round(result.elapsed_s + result.seconds_more + 5)}s"


def limits(path, percent):
    """Returns the limits of sends on a path, in words. percent: a function that returns a share in words."""
    parts = [f"{name} {value:,} bytes" for name, value in (
        ("optmem_max", path.optmem_max), ("memlock", path.memlock_bytes)) if value is not None]
    if path.receiver_limited and path.receiver_limited > RECEIVER_LIMITS:
        parts.append(f"the receiver's window held the sender back {percent(path.receiver_limited)} of the time")
    return parts
