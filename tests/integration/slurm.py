# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A real Slurm on this machine: its controller, and a slurmd per host. Each host is a network namespace with its own
host name; a bridge connects all. Nothing remains after Slurm has ended."""

import os
import pathlib
import signal
import subprocess

import pytest

from conftest import PATIENCE_S, ROOT, Child, eventually, run

# Slurm's packages in Debian, and the dependencies that a minimal system lacks.
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge", "libmunge2",
            "libhwloc15", "liblua5.1-0")
NETWORK = "198.18.8"
HUB = "hub"

CONFIG = """
ClusterName=sendpath
SlurmctldHost={hub}({network}.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def fetched():
    """Returns the folder of the unpacked packages; skips the test with a reason if they are not available."""
    done = run(ROOT / "tests/lab/fetch-package", *PACKAGES, timeout=300)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())

# Gives a host its own name, the other hosts' names, the /sys of its network, and the cgroups that slurmd needs.
BECOME = """
hostname "$0"
mount --bind "$1/hosts" /etc/hosts
mount -t sysfs sysfs "$1/sys"
mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup"
mount --rbind "$1/sys" /sys
shift
exec "$@"
"""


class Slurm:
    """hosts: the names of the hosts. Commands run on the first host."""

    def __init__(self, folder, hosts):
        self.root, self.folder, self.hosts = fetched(), folder, hosts
        self.programs, self.devices = [], []
        libraries = next(self.root.glob("usr/lib/*"))
        self.environment = {
            **os.environ, "SLURM_CONF": f"{folder}/slurm.conf",
            "LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm",
            "PATH": f"{self.root}/usr/bin:{os.environ['PATH']}"}
        nodes = "".join(f"NodeName={host} NodeHostname={host} NodeAddr={address} Port=17001 CPUs=1\n"
                        for host, address in self.addresses().items() if host != HUB)
        (folder / "slurm.conf").write_text(CONFIG.format(
            folder=folder, hub=HUB, network=NETWORK, plugins=libraries / "slurm-wlm") + nodes)
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(
            f"{address} {host}\n" for host, address in self.addresses().items()))
        for made in ("state", "sys", *(f"spool-{host}" for host in hosts)):
            (folder / made).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)

    def addresses(self):
        return {HUB: f"{NETWORK}.254", **{host: f"{NETWORK}.{i}" for i, host in enumerate(self.hosts, 1)}}

    @staticmethod
    def namespace(host):
        return f"sendpath-{host}-{os.getpid()}"

    def at(self, host):
        """Returns the prefix of a command that runs on a host."""
        return ["nsenter", f"--net=/run/netns/{self.namespace(host)}", "unshare", "--uts", "--mount",
                "sh", "-ec", BECOME, host, str(self.folder)]

    def _connect(self):
        def ip(*words):
            done = run("ip", *words)
            if done.returncode:
                pytest.skip(f"no network namespaces here: {done.stderr.strip()}")

        hub = self.namespace(HUB)
        for host in self.addresses():
            ip("netns", "add", self.namespace(host))
            ip("-n", self.namespace(host), "link", "set", "lo", "up")
        ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", hub, "address", "add", f"{NETWORK}.254/24", "dev", "bridge")
        ip("-n", hub, "link", "set", "bridge", "up")
        for host in self.hosts:
            there = self.namespace(host)
            ip("-n", hub, "link", "add", "name", host, "type", "veth", "peer", "name", "eth0", "netns", there)
            ip("-n", hub, "link", "set", "dev", host, "master", "bridge", "up")
            ip("-n", there, "address", "add", f"{self.addresses()[host]}/24", "dev", "eth0")
            ip("-n", there, "link", "set", "eth0", "up")

    def start(self, program, *options, host=HUB):
        """Starts a program, by the name of a Slurm program or by a path. Its output goes to NAME-HOST.out."""
        with open(self.folder / f"{pathlib.Path(program).name}-{host}.out", "wb") as out:
            child = Child([*self.at(host), str(self.root / "usr/sbin" / program), *map(str, options)],
                          env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                          stderr=subprocess.STDOUT, start_new_session=True)
        self.programs.append(child)
        return child

    def __enter__(self):
        try:
            self._connect()
            folder = self.folder
            self.start("munged", "--foreground", "--force", f"--key-file={folder}/munge.key",
                       f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
                       f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")
            assert eventually((folder / "munge.socket").exists), self.logs()
            self.start("slurmctld-wlm", "-D")
            for host in self.hosts:
                self.start("slurmd-wlm", "-D", "-N", host, "-d",
                           self.root / "usr/sbin/slurmstepd-wlm", host=host)
            assert eventually(lambda: self.query("sinfo", "-h", "-o", "%T %D") ==
                              f"idle {len(self.hosts)}"), self.logs()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.query("scancel", "--user=root") is not None:
            self.wait()
        for child in reversed(self.programs):
            child.send_signal(signal.SIGTERM)
        for child in self.programs:
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for host in self.addresses():
            # Kills all processes of the host, also a slurmstepd that outlived its slurmd.
            for pid in run("ip", "netns", "pids", self.namespace(host)).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            run("ip", "netns", "del", self.namespace(host))

    def run(self, *command, **options):
        """Runs a command on the first host."""
        return run(*self.at(self.hosts[0]), *command, env={**self.environment, **options.pop("env", {})},
                   **options)

    def query(self, *command):
        """Returns a command's output; None if it fails."""
        done = self.run(*command, timeout=PATIENCE_S)
        return done.stdout.strip() if done.returncode == 0 else None

    def wait(self):
        """Waits until no job is left. Polls only twice a second, because each poll takes CPU time from the jobs."""
        done = self.run("sh", "-c", 'while left=$(squeue -h) && [ "$left" ]; do sleep 0.5; done', timeout=180)
        assert done.returncode == 0 and not done.stderr, self.logs()

    def logs(self):
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-3000:]}"
                         for pattern in ("*.log", "*.out") for log in sorted(self.folder.glob(pattern)))
