# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running exporter, read as Prometheus reads it."""

import http.client
import os
import re
import signal
import subprocess

import pytest

from conftest import ANALYZE, PATIENCE_S, Child, line_of

openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser",
                                  reason="python3-prometheus-client is not installed")
parser = pytest.importorskip("prometheus_client.parser")

OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


class Exporter:
    """Runs analyze exporter on a free port. At the end of the with block, it must end without an error."""

    def __init__(self, *options, before=(), port=0):
        self.process = Child([*before, ANALYZE, "exporter", "--listen", f"127.0.0.1:{port}",
                              *map(str, options)], stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        line = line_of(self.process.stderr)
        found = re.fullmatch(r"analyze: metrics at http://127.0.0.1:(\d+)/metrics\n", line)
        if not found:
            self.process.kill()
            pytest.fail(line + self.process.communicate()[1])
        self.port = int(found[1])
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=PATIENCE_S)
        if kind is None:
            assert (self.process.returncode, err) == (0, "")

    def request(self, path="/metrics", method="GET", accept=OPEN_METRICS, timeout=PATIENCE_S,
                **headers):
        """Requests a page. Returns the status, the headers, and the text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, headers={"Accept": accept, **headers} if accept else headers)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, dict(response.headers), body

    def read(self):
        status, headers, text = self.request()
        assert (status, headers["Content-Type"]) == (200, OPEN_METRICS), text
        return Metrics(text, openmetrics)


class Metrics:
    """The parsed metrics of one answer of the exporter."""

    def __init__(self, text, by=openmetrics):
        self.families = list(by.text_string_to_metric_families(text))
        self.samples = [s for family in self.families for s in family.samples]
        series = {(s.name, *sorted(s.labels.items())) for s in self.samples}
        assert len(series) == len(self.samples), "a series has two samples"

    def rows(self, name, **labels):
        return [s for s in self.samples
                if s.name == name and labels.items() <= s.labels.items()]

    def sum(self, name, **labels):
        return sum(s.value for s in self.rows(name, **labels))

    def help_of(self, family):
        return next(f.documentation for f in self.families if f.name == family)

    def counters(self):
        return {(s.name, *sorted(s.labels.items())): s.value for s in self.samples
                if s.name.endswith(("_total", "_count", "_bucket", "_sum"))}


def has_a_socket(pid):
    folder = f"/proc/{pid}/fd"
    return any(os.readlink(f"{folder}/{fd}").startswith("socket:") for fd in os.listdir(folder))
