# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests `analyze advise` by real runs: its answers about paths and bad input, and what it leaves behind."""

import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import pytest

from conftest import (ANALYZE, LOADGEN, PATIENCE_S, ROOT, Child, analyze, needs_bpf, processes,
                      run)
from test_topology import PEER

pytestmark = pytest.mark.usefixtures("untouched")


def advise(*args, **kwargs):
    return analyze("advise", *args, **kwargs)


def lines_of(done):
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 12 and max(map(len, lines)) <= 80, done.stdout
    return lines


@needs_bpf
def test_for_loopback_it_answers_never_at_once(tmp_path):
    path = tmp_path / "advice.json"
    lines = lines_of(advise("--json", path))
    assert lines[0] == ("Do not use MSG_ZEROCOPY on this path, at any size: every send is copied.")
    advice = json.loads(path.read_text())
    assert advice["schema"] == "sendpath.advise/3" and advice["recommendation"] == lines[0]
    assert advice["answers"] == []  # no load was compared
    assert advice["path"]["copied"] == 1 and advice["path"]["final"] and advice["path"]["traced"]
    assert (advice["path"]["cause"], advice["path"]["device"]) == ("loopback", "lo")
    assert advice["blocks"] == 0 and not advice["interrupted"]


@needs_bpf
def test_report_draws_what_it_wrote(tmp_path):
    """Loopback has no figure: the page has the same reason as the text."""
    path = tmp_path / "advice.json"
    lines = lines_of(advise("--json", path))
    done = analyze("report", path, "--out", tmp_path / "out", "--figures", "svg")
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and not done.stderr, done.stderr
    page = (tmp_path / "out/report.html").read_text()
    assert page.count(lines[0]) == 1
    assert lines[0] in done.stdout and "0 figures" in done.stdout
    assert not list((tmp_path / "out/figures").iterdir())


def as_nobody(*args):
    """Runs advise without privilege: only the error queue reports copies. It flags all copies on loopback."""
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ANALYZE,
                           "advise", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, cwd="/")


def test_without_privilege_the_error_queue_decides_with_a_note():
    if subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "test", "-x", ANALYZE],
                      check=False).returncode:
        pytest.skip(f"nobody may not run {ANALYZE}")
    done = as_nobody("--budget", "12", "--json", "-")
    assert done.returncode == 0, done.stderr
    path = json.loads(done.stdout)["path"]
    assert not path["traced"] and path["copied"] == 1


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout"])
def test_what_is_no_regular_file_needs_no_writable_folder(path):
    if subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "test", "-x", ANALYZE],
                      check=False).returncode:
        pytest.skip(f"nobody may not run {ANALYZE}")
    done = as_nobody("--json", path, "--peer", "127.0.0.1:1")
    assert "--peer 127.0.0.1:1: Connection refused" in done.stderr


FINAL = ("loopback", "local_delivery", "tun")


@needs_bpf
@pytest.mark.skipif("SENDPATH_CAUSE" not in os.environ, reason="no network of the lab")
def test_for_a_network_the_answer_is_the_known_one():
    """The answer has the cause that the lab knows. Which sizes pay on an emulated network is chance."""
    done = advise(*PEER, "--budget", "40", "--json", "-", timeout=500)
    assert done.returncode == 0, done.stderr
    advice = json.loads(done.stdout)
    cause = os.environ["SENDPATH_CAUSE"].split(":")[0]
    if cause == "-":
        assert advice["path"]["copied"] == 0 and advice["blocks"] > 0
        assert "irregular" not in {answer["kind"] for answer in advice["answers"]}
        return
    assert advice["path"]["copied"] == 1 and advice["path"]["cause"] == cause
    assert advice["recommendation"] == (
        "Do not use MSG_ZEROCOPY on this path, at any size: every send is copied." if cause in FINAL
        else "Do not use MSG_ZEROCOPY on this path as it is: every send is copied.")
    assert advice["path"]["final"] == (cause in FINAL) and advice["blocks"] == 0


@needs_bpf
def test_what_is_written_is_the_callers():
    if os.geteuid():
        pytest.skip("only root can be called by sudo")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        path = pathlib.Path(folder, "advice.json")
        done = advise("--json", path, env={**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"})
        if done.returncode == 1 and "may not read" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        assert path.stat().st_uid == 65534 and stat.S_IMODE(path.stat().st_mode) == 0o644
        assert os.listdir(folder) == ["advice.json"]


@pytest.mark.parametrize("args,status,message", [
    (("--budget", "x"), 2, "--budget: x: give 0.1 to 86400 seconds"),
    (("--budget", "0"), 2, "--budget: 0: give 0.1 to 86400 seconds"),
    (("--nope",), 2, "--nope"),
    (("--peer", "10.0.0.1"), 2, "--peer 10.0.0.1: give HOST:PORT"),
    (("--fields", "0"), 2, "--fields 0: give a whole number from 1"),
    (("--json", "/no/such/folder/a.json"), 1, "--json: cannot write /no/such/folder/a.json"),
    (("--json", "/", "--peer", "127.0.0.1:1"), 1, "--json: cannot write /: "),
    (("--peer", "127.0.0.1:1"), 1, "--peer 127.0.0.1:1: Connection refused"),
])
def test_what_is_wrong_is_one_line(args, status, message):
    done = advise(*args)
    assert done.returncode == status and not done.stdout
    assert len(done.stderr.splitlines()) == 1 and message in done.stderr


def test_a_symbolic_link_is_refused_before_it_is_measured(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "other")
    done = advise("--json", tmp_path / "link", "--peer", "127.0.0.1:1")
    assert done.returncode == 1 and "symbolic link" in done.stderr


@pytest.mark.parametrize("args", [("--budget", "\x1b[31m"), ("--\x1b[31m",), ("\x1b[31m",), ("--", "\x1b[31m"),
                                  ("--json", "/no/\x1b[31m"), ("--pid", "1", "--path", "/no/\x1b[31m")],
                         ids=repr)
def test_no_value_steers_a_terminal(args):
    done = advise(*args)
    assert done.returncode in (1, 2) and not done.stdout
    assert done.stderr.endswith("\n") and done.stderr[:-1].isprintable(), repr(done.stderr)


def test_an_error_has_one_name(tmp_path):
    """All errors begin with the name by which the program was called."""
    (tmp_path / "loadgen").mkdir()
    shutil.copy(ANALYZE, tmp_path / "sendpath")
    shutil.copy(LOADGEN, tmp_path / "loadgen/loadgen")
    (tmp_path / "analysis").symlink_to(ROOT / "analysis")
    done = run(tmp_path / "sendpath", "advise", "--peer", "127.0.0.1:1")
    assert done.returncode == 1 and done.stderr.startswith("sendpath: --peer 127.0.0.1:1: ")
    for args in ("--nope",), ("--json", "/no/such/folder/a.json"):
        assert run(tmp_path / "sendpath", "advise", *args).stderr.startswith("sendpath: ")


@needs_bpf
def test_a_fifo_without_a_reader_is_reported(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    done = advise("--json", path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert f"{path}: nobody reads from it" in done.stderr


@needs_bpf
@pytest.mark.parametrize("words", [("advise",), ("advise", "--help"), ("crosscheck", "--help")],
                         ids=" ".join)
def test_a_full_standard_output_is_one_line(words):
    done = run("sh", "-c", 'exec "$@" > /dev/full', "sh", ANALYZE, *words)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "standard output: No space left" in done.stderr


def test_an_interrupt_ends_it_with_what_is_known(tmp_path):
    """The other end never answers, so the interrupt arrives in the middle of a run."""
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            Child([ANALYZE, "advise", "--json", str(tmp_path / "advice.json"),
                   "--peer", f"127.0.0.1:{listener.getsockname()[1]}"],
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                  start_new_session=True) as job:
        listener.settimeout(60)
        peer, _ = listener.accept()
        with peer:
            os.killpg(job.pid, signal.SIGINT)
            _, message = job.communicate(timeout=60)
    assert job.returncode == -signal.SIGINT, message
    assert not (tmp_path / "advice.json").exists() or json.loads(
        (tmp_path / "advice.json").read_text())


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_every_signal_ends_all_of_it(ending, tmp_path):
    """The signal goes only to the process of advise, while its run waits for another end that never answers."""
    before = processes().keys()
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            Child([ANALYZE, "advise", "--peer", f"127.0.0.1:{listener.getsockname()[1]}"],
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                  env={**os.environ, "TMPDIR": str(tmp_path)}) as job:
        listener.settimeout(PATIENCE_S)
        peer, _ = listener.accept()
        with peer:
            job.send_signal(ending)
            job.wait(PATIENCE_S)
            assert processes().keys() <= before, processes()
        # If advise had waited for the other end, which has five seconds to answer, it would have printed an error.
        _, message = job.communicate(timeout=PATIENCE_S)
    assert (job.returncode, message) == (-ending, b"")
    assert not os.listdir(tmp_path)
