# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""PostgreSQL runs a process per connection. It sends one greeting per connection, and one answer per transaction of
pgbench."""

import os
import pathlib
import pwd
import re
import signal

import pytest

from witness import Bpftrace, Strace, agree, free_port, need, needs_bpf, run, version

pytestmark = needs_bpf
CLIENTS, TRANSACTIONS = 4, 500
ROWS, ROW = 20_000, 100
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


@pytest.fixture(name="programs")
def _programs():
    """Finds the programs, which Debian keeps in a folder per version."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
                   key=lambda folder: float(folder.parts[4]))
    if not found:
        pytest.skip("postgresql is not installed")
    return found[-1]


@pytest.fixture(name="cluster")
def _cluster(programs, tmp_path):
    """Creates the database cluster as the user postgres, because PostgreSQL refuses to run as root."""
    need("setpriv")
    owner, cluster = pwd.getpwnam("postgres"), tmp_path / "cluster"
    cluster.mkdir(mode=0o700)
    os.chown(cluster, owner.pw_uid, owner.pw_gid)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 1:
            folder.chmod(0o711)
    made = run(*AS_POSTGRES, programs / "initdb", "-D", cluster, "-A", "trust", "--no-sync",
               "--locale=C", cwd="/")
    assert made.returncode == 0, made.stderr
    return cluster


def serving(witness, programs, cluster, port):
    def stop():  # all clients have left: a client that the server disconnects would get one more message
        os.kill(int((cluster / "postmaster.pid").read_text().split()[0]), signal.SIGTERM)

    def ready():
        return run(programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", port).returncode == 0

    return witness.serving(ready, stop, *AS_POSTGRES, programs / "postgres", "-D", cluster,
                           "-c", "listen_addresses=127.0.0.1", "-c", f"port={port}",
                           "-c", f"unix_socket_directories={cluster}", "-c", "fsync=off")


def environment(port):
    """Disables encryption in a client, which otherwise requests it first."""
    return {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres",
            "PGDATABASE": "postgres", "PGSSLMODE": "disable", "PGGSSENCMODE": "disable"}


def pgbench(programs, port, folder, around=()):
    """Runs pgbench; returns its number of transactions."""
    (folder / "script").write_text("SELECT 1;\n")
    result = run(*around, programs / "pgbench", "-n", "-c", CLIENTS, "-j", 2, "-t", TRANSACTIONS,
                 "-f", folder / "script", cwd="/", env={**os.environ, **environment(port)})
    assert result.returncode == 0, result.stderr
    return int(re.search(r"actually processed: (\d+)", result.stdout)[1])


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
def test_what_pgbench_is_answered(instrument, programs, cluster, tmp_path):
    program = f"PostgreSQL {version(programs / 'postgres', '--version')}"
    port, witness = free_port(), instrument(tmp_path)
    with serving(witness, programs, cluster, port):
        transactions = pgbench(programs, port, tmp_path)
    groups = witness.record["by"]["groups"]
    agree(program, "pgbench, transactions and greetings", transactions + CLIENTS,
          sum(g["sends"] for g in groups if g["sends"] >= TRANSACTIONS))
    witness.agrees(program)


def test_what_pgbench_requests(programs, cluster, tmp_path):
    """Each client sends a greeting, one request per transaction, and a goodbye; a first connection, which pgbench opens
    before the others, requests nothing."""
    program = f"pgbench {version(programs / 'pgbench', '--version')}"
    (tmp_path / "other").mkdir()
    port, witness, server = free_port(), Bpftrace(tmp_path), Strace(tmp_path / "other")
    with serving(server, programs, cluster, port):
        transactions = pgbench(programs, port, tmp_path, witness.around)
    witness.read()
    agree(program, "itself, transactions, greetings, goodbyes",
          transactions + 2 * (CLIENTS + 1), sum(c["sends"] for c in witness.record["calls"]))
    witness.agrees(program)


def test_rows_copied_out(programs, cluster, tmp_path):
    """Each row has a header of 5 bytes; besides rows, only a few messages are sent."""
    program = f"PostgreSQL {version(programs / 'postgres', '--version')}"
    port, witness = free_port(), Strace(tmp_path)
    query = f"COPY (SELECT repeat('x', {ROW - 1}) FROM generate_series(1, {ROWS})) TO STDOUT"
    with serving(witness, programs, cluster, port):
        result = run(programs / "psql", "-X", "-c", query, cwd="/",
                     env={**os.environ, **environment(port)})
        assert result.returncode == 0 and len(result.stdout) == ROWS * ROW, result.stderr
    rows = ROWS * (ROW + 5)
    assert rows < sum(c["bytes"] for c in witness.record["calls"]) < rows + 2000
    witness.agrees(program + ", COPY")
