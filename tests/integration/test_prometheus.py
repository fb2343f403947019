# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the shipped configuration, rules and dashboard: a real Prometheus scrapes the exporter, and answers the
dashboard's queries."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from conftest import (ANALYZE, LOADGEN, PATIENCE_S, ROOT, Child, check, eventually, needs_bpf,
                      only, run)
from exporter import Exporter

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus/sendpath.rules.yml"
DASHBOARD = json.loads((DEPLOY / "grafana/sendpath.json").read_text())
# Queries with these names have no result if no send fails and --cost is not given.
MAY_BE_EMPTY = re.compile(r"send_errors|refused|bpf_seconds")

pytestmark = [needs_bpf, pytest.mark.installed]


def promtool(prometheus, *args):
    done = run(prometheus / "promtool", *args)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("what,file", [("config", "prometheus.yml"), ("rules", RULES.name)])
def test_promtool_has_no_objection(prometheus, what, file):
    status, output = promtool(prometheus, "check", what, DEPLOY / "prometheus" / file)
    assert status == 0 and "9 rules found" in output, output


class Series:
    """An invented series, with which promtool tests rules that look back for hours."""

    def __init__(self, name, **labels):
        labels = {"job": "sendpath", "instance": "c:9435", **labels}
        self.series = name + "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}"

    def is_(self, values):
        return {"series": self.series, "values": values}


def fallbacks(copied):
    """Returns series with a sample per minute: ten sends per second, of which `copied` per minute are copied."""
    by = {"cause": "packet_tap", "device": "eth0"}
    return [Series("sendpath_zerocopy_completions_total", interface="msg_zerocopy").is_("0+600x60"),
            Series("sendpath_zerocopy_copied_total", interface="msg_zerocopy").is_(f"0+{copied}x60"),
            Series("sendpath_zerocopy_copied_by_cause_total", **by).is_(f"0+{copied}x60")]


SHARE = "instance:sendpath_zerocopy_fallback:ratio_rate5m"


def shares(copied, *expected):
    """Returns a promtool test: ten sends per second by MSG_ZEROCOPY, and thirty by io_uring with unknown copies."""
    series = [*fallbacks(copied),
              Series("sendpath_zerocopy_completions_total", interface="io_uring").is_("0+1800x60")]
    return {"interval": "1m", "input_series": series, "promql_expr_test": [
        {"expr": SHARE, "eval_time": "30m", "exp_samples": [
            {"labels": Series(SHARE).series, "value": value} for value in expected]}]}


def latencies(before, after, pause=0):
    """Returns series of twenty sends per second for 26.5 hours. Latencies are below `before` for 26 hours, then below
    `after`. For `pause` minutes in the middle, no send is timed."""
    of = {"syscall": "sendmsg", "zerocopy": "false"}
    found = [Series("sendpath_sends_total", **of).is_("0+1200x1600")]
    for le in ("1e-05", "2e-05", "4e-05", "8e-05", "+Inf"):
        steps = [1200 if float(le) >= bound else 0 for bound in (before, after)]
        at = steps[0] * (1560 - pause)
        found.append(Series("sendpath_send_seconds_bucket", le=le, **of).is_(
            f"0+{steps[0]}x779 {steps[0] * 780}x{pause} {steps[0] * 781}+{steps[0]}x{779 - pause} "
            f"{at + steps[1]}+{steps[1]}x39"))
    return found


def alert(name, at, series, *expected):
    return {"interval": "1m", "input_series": series, "alert_rule_test": [
        {"eval_time": at, "alertname": name, "exp_alerts": list(expected)}]}


def assert_rules(prometheus, folder, tests):
    shutil.copy(RULES, folder)
    path = folder / "tests.yml"
    path.write_text(json.dumps({"rule_files": [RULES.name], "tests": tests}))
    status, output = promtool(prometheus, "test", "rules", path)
    assert status == 0, output


HELP = "docs/findings.md has what this code means, and what helps."


def refusals(cause, errno):
    """Returns a series of five refusals per minute."""
    return [Series("sendpath_zerocopy_refused_total", interface="msg_zerocopy", cause=cause, errno=errno).is_("0+5x60")]


def ignorings(of_a_hundred):
    return [Series("sendpath_zerocopy_ignored_total", interface="msg_zerocopy").is_(f"0+{60 * of_a_hundred}x60"),
            Series("sendpath_zerocopy_completions_total", interface="msg_zerocopy").is_(
                f"0+{60 * (100 - of_a_hundred)}x60")]


def test_alerts_come_when_they_should_and_else_not(prometheus, tmp_path):
    labels = {"job": "sendpath", "instance": "c:9435", "severity": "warning"}
    tapped = {"exp_labels": {**labels, "cause": "packet_tap", "device": "eth0", "code": "copied_packet_tap"},
              "exp_annotations": {
                  "summary": "c:9435: 50% of zero-copy sends are copied: packet_tap on eth0",
                  "description": HELP}}
    refused = {"exp_labels": {**labels, "interface": "msg_zerocopy", "cause": "optmem", "code": "refused_optmem"},
               "exp_annotations": {"summary": "c:9435: 50 zero-copy sends failed: optmem", "description": HELP}}
    ignored = {"exp_labels": {**labels, "interface": "msg_zerocopy", "code": "ignored"},
               "exp_annotations": {"summary": "c:9435: 20% of zero-copy sends have no effect: the sockets lack "
                                              "SO_ZEROCOPY", "description": HELP}}
    slower = {"exp_labels": {**labels, "syscall": "sendmsg", "zerocopy": "false"},
              "exp_annotations": {"summary": "c:9435: the 99th percentile of sendmsg (zero-copy: "
                                  "false) is 79.6us, twice what it was"}}
    tests = [alert("SendpathZerocopyFallback", "30m", fallbacks(300), tapped),
             alert("SendpathZerocopyFallback", "30m", fallbacks(30)),
             alert("SendpathZerocopyFallback", "5m", fallbacks(300)),
             alert("SendpathZerocopyRefused", "30m", refusals("optmem", "ENOBUFS"), refused),
             alert("SendpathZerocopyRefused", "30m", refusals("send_buffer_full", "EAGAIN")),
             alert("SendpathZerocopyRefused", "30m", refusals("failed", "EPIPE")),
             alert("SendpathZerocopyIgnored", "30m", ignorings(20), ignored),
             alert("SendpathZerocopyIgnored", "30m", ignorings(5)),
             alert("SendpathSendLatencyShift", "1590m", latencies(2e-5, 8e-5), slower),
             alert("SendpathSendLatencyShift", "1590m", latencies(2e-5, 8e-5, pause=10), slower),
             alert("SendpathSendLatencyShift", "1590m", latencies(2e-5, 2e-5)),
             alert("SendpathDown", "10m", [Series("up").is_("0x10")], {
                 "exp_labels": labels,
                 "exp_annotations": {"summary": "c:9435: the exporter does not answer"}}),
             alert("SendpathLoses", "25m", [Series("sendpath_lost_total", what="calls").is_("0x19 7x20")], {
                 "exp_labels": {**labels, "severity": "info", "what": "calls"},
                 "exp_annotations": {"summary": "c:9435: 7 calls could not be counted"}}),
             alert("SendpathLoses", "40m", [Series("sendpath_lost_total", what="calls").is_("7x40")])]
    assert_rules(prometheus, tmp_path, tests)


def test_a_share_is_of_the_sends_whose_copies_are_known(prometheus, tmp_path):
    """The share has no value if all sends are by io_uring, whose copies are not known."""
    idle = [one for one in shares(0)["input_series"] if "io_uring" in one["series"]]
    alone = {**shares(0), "input_series": idle + [
        Series(f"sendpath_zerocopy_{metric}_total", interface="msg_zerocopy").is_("0x60")
        for metric in ("completions", "copied")]}
    assert_rules(prometheus, tmp_path, [shares(300, 0.5), shares(0, 0), alone])


class Prometheus:
    """Runs a Prometheus with the shipped configuration, except for times and ports."""

    def __init__(self, folder, programs, target):
        config = (DEPLOY / "prometheus/prometheus.yml").read_text()
        for ours, theirs in (("interval: 15s", "interval: 500ms"), ("127.0.0.1:9435", target)):
            assert ours in config
            config = config.replace(ours, theirs)
        (folder / "prometheus.yml").write_text(config)
        shutil.copy(RULES, folder)
        with open(folder / "log", "wb") as log:
            self.process = Child(
                [programs / "prometheus", f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:0"],
                stderr=log, stdin=subprocess.DEVNULL, cwd=folder)
        self.port = None

    def __enter__(self):
        self.port = eventually(lambda: listening_port(self.process.pid))
        assert self.port and eventually(self.is_ready)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def is_ready(self):
        try:
            return self.query("query", query="up")["result"]
        except OSError:
            return False

    def query(self, what, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            output = json.load(answer)
        assert output["status"] == "success" and not output.get("warnings"), output
        return output["data"]

    def value(self, query):
        return float(only(self.query("query", query=query)["result"])["value"][1])

    def values(self, query, start):
        """Returns {labels: values since `start`} of a query."""
        found = self.query("query_range", query=query, start=start, end=time.time(), step=0.5)
        return {tuple(sorted(series["metric"].items())):
                [float(value) for _, value in series["values"]] for series in found["result"]}


def listening_port(pid):
    """Returns the port that the kernel chose for a process."""
    links = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in links:
            return int(fields[1].partition(":")[2], 16)
    return None


@pytest.fixture(scope="module")
def scraped(prometheus, tmp_path_factory):
    """Returns Prometheus after two concurrent loads, the record of the same sends, and when they began."""
    folder = tmp_path_factory.mktemp("prometheus")
    # The program has a unique name, because other programs may send on this machine.
    program = folder / f"load{os.getpid()}"
    shutil.copy(LOADGEN, program)
    loads = " & ".join(f"{program} --variant {variant} --duration 5"
                       for variant in ("zerocopy", "twocopy"))
    with Exporter("--comm", program.name) as exporter, \
            Prometheus(folder, prometheus, f"127.0.0.1:{exporter.port}") as server:
        began = time.time()
        observed = run(ANALYZE, "--json", "-", "--", "sh", "-c", f"{loads} & wait")
        assert observed.returncode == 0, observed.stderr
        record = check(json.loads(observed.stdout.splitlines()[-1]))
        sends = sum(call["sends"] for call in record["calls"])
        assert eventually(lambda: server.value("sum(sendpath_sends_total)") == sends)
        yield server, record, began


def panels():
    return [(panel, target) for panel in DASHBOARD["panels"] for target in panel["targets"]]


def expression(target):
    """Returns the query that Grafana sends when it shows all hosts."""
    return target["expr"].replace("$instance", ".*").replace("$__rate_interval", "2s")


@pytest.mark.parametrize("panel,target", panels(), ids=lambda x: x.get("title") or x["refId"])
def test_every_query_of_the_dashboard(scraped, panel, target):
    server, _, began = scraped
    found = server.values(expression(target), began)
    if not MAY_BE_EMPTY.search(target["expr"]):
        assert any(value == value for values in found.values() for value in values), panel["title"]


def test_the_dashboard_has_room_for_all():
    occupied = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & occupied and at["x"] + at["w"] <= 24
        occupied |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def query_of(title):
    return expression(only([t for p, t in panels() if p["title"] == title]))


def test_the_share_of_copies_by_cause(scraped):
    """Loopback copies all sends, so it is the only cause."""
    server, record, began = scraped
    labels, values = only(list(server.values(query_of("Copied, by cause and device"), began).items()))
    assert {("cause", "loopback"), ("device", "lo")} <= set(labels)
    # The series of a cause begins with its first copies: a rate exists only from then on.
    shares = [value for value in values if value == value]
    assert shares and all(share == pytest.approx(1, abs=0.05) for share in shares[4:]), shares
    zerocopy = record["zerocopy"]
    # Each of the two observations may lose flags of its own.
    lost = record["lost"]["flags"] + server.value('sum(sendpath_lost_total{what="flags"})')
    for metric, count in (("completions", zerocopy["completions"]), ("copied", zerocopy["copied"]),
                          ("copied_by_cause", only(zerocopy["causes"])["count"]),
                          ("requests", zerocopy["requests"])):
        assert abs(server.value(f"sum(sendpath_zerocopy_{metric}_total)") - count) <= lost


def test_percentiles_are_the_records(scraped):
    """The exporter and the record have the same sends. The exporter's buckets are half as wide as their bounds."""
    server, record, _ = scraped
    compared = 0
    for call in record["calls"]:
        if call["sends"] < 1000:
            continue
        labels = f'syscall="{call["syscall"]}",zerocopy="{str(call["zerocopy"]).lower()}"'
        assert server.value(f"sendpath_send_seconds_count{{{labels}}}") == call["wall_ns"]["count"]
        for quantile, key in ((0.5, "p50"), (0.99, "p99")):
            found = server.value(f"histogram_quantile({quantile}, "
                                 f"sum by (le) (sendpath_send_seconds_bucket{{{labels}}}))")
            assert 0.6 < found * 1e9 / call["wall_ns"][key] < 1.7, (call, quantile)
        compared += 1
    assert compared >= 2


def test_every_rule_works(scraped):
    server, _, began = scraped
    rules = [rule for group in server.query("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == 9
    assert all(rule["health"] == "ok" for rule in rules), rules
    pending = {rule["name"] for rule in rules if rule.get("state") == "pending"}
    assert pending == {"SendpathZerocopyFallback"}
    firing = {rule["name"] for rule in rules if rule.get("state") == "firing"}
    assert not firing or (firing == {"SendpathLoses"} and server.value("sum(sendpath_lost_total)") > 0)
    ratio = server.values("instance_cause_device:sendpath_zerocopy_fallback:ratio_rate5m", began)
    assert 0.8 < only(list(ratio.values()))[-1] <= 1.05
    assert server.values("instance_syscall_zerocopy:sendpath_send_seconds:p99_rate5m", began)
