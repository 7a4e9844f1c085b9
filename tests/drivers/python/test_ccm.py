"""An unmodified ccm from PyPI drives a cluster of Helenus through the install directory contrib/ccm, as its users type it.

Nodes have addresses of their own on loopback; only the ports that ccm derives from a node's number, where nodetool asks, are 127.0.0.1's.
"""

import os
import pathlib
import subprocess
import threading
import time

import pytest

INSTALL_DIRECTORY = pathlib.Path(__file__).parents[3] / "contrib" / "ccm"
# No command takes as long on any machine: ccm itself gives up after less.
HUNG_SECONDS = 300
PREFIX = f"127.{10 + os.getpid() % 200}.{os.getpid() // 200 % 200}."


class Ccm:
    def __init__(self, folder):
        self.folder = folder
        # A name in the environment would end up in the scripts' paths.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CASSANDRA_")}
        self.environment["CCM_CONFIG_DIR"] = str(folder)

    def run(self, *words):
        return subprocess.run(
            ["ccm", *words], env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HUNG_SECONDS)

    def __call__(self, *words):
        ran = self.run(*words)
        assert ran.returncode == 0 and "Traceback" not in ran.stderr and "ERROR" not in ran.stdout + ran.stderr, (
            f"ccm {' '.join(words)}: {ran.returncode}\n{ran.stdout}{ran.stderr}\n{self.logs()}")
        return ran.stdout

    def logs(self):
        return "\n".join(f"{path}:\n{path.read_text()}" for path in sorted(self.folder.glob("*/node*/logs/system.log")))

    def states(self):
        """UP or DOWN of each node as ccm has it."""
        lines = (line.split(": ") for line in self("status").splitlines() if line.startswith("node"))
        return {name: state.split()[0] for name, state in lines}

    def ring(self, node):
        """The state of each address in the ring as a node has it, by its nodetool."""
        rows = (line.split() for line in self(node, "nodetool", "status").splitlines())
        return {row[1]: row[0] for row in rows if len(row) > 2 and row[1].startswith(PREFIX)}


@pytest.fixture
def ccm(tmp_path):
    ccm = Ccm(tmp_path)
    ccm("create", "tried", "--install-dir", str(INSTALL_DIRECTORY))
    yield ccm
    if (tmp_path / "tried").exists():
        ccm.run("remove")


def address(number):
    return f"{PREFIX}{number}"


def wait_for_ring(ccm, node, expected):
    """Nodes hear of each other a moment after a start or a stop."""
    deadline = time.monotonic() + HUNG_SECONDS
    while (ring := ccm.ring(node)) != expected:
        assert time.monotonic() < deadline, (ring, ccm.logs())


def wait_for_line(ccm, node, words):
    """What ccm's `watch_log_for` finds."""
    log = ccm.folder / "tried" / node / "logs" / "system.log"
    deadline = time.monotonic() + HUNG_SECONDS
    while words not in log.read_text():
        assert time.monotonic() < deadline, ccm.logs()


def cqlsh(ccm, node, statement):
    return ccm(node, "cqlsh", "--", "-e", statement)


def complaints(ccm):
    return [line for line in ccm.logs().splitlines() if "panicked" in line or " ERROR " in line]


def test_three_nodes_from_creation_to_removal(ccm):
    ccm("populate", "-n", "3", "-i", PREFIX)
    ccm("start", "--wait-for-binary-proto", "--wait-other-notice")
    assert ccm.states() == {"node1": "UP", "node2": "UP", "node3": "UP"}
    everyone_up = {address(number): "UN" for number in (1, 2, 3)}
    wait_for_ring(ccm, "node1", everyone_up)
    assert "5.0.6" in ccm("node1", "nodetool", "version")

    cqlsh(ccm, "node1", "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}")
    cqlsh(ccm, "node2", "CREATE TABLE ks.t (k int PRIMARY KEY, v text)")
    cqlsh(ccm, "node3", "INSERT INTO ks.t (k, v) VALUES (1, 'written by cqlsh')")
    assert "written by cqlsh" in cqlsh(ccm, "node1", "SELECT v FROM ks.t WHERE k = 1")
    stress = ccm("stress", "write", "n=300", "no-warmup", "-rate", "threads=2")
    assert "Total errors              :              0" in stress, stress

    ccm("node2", "stop")
    assert ccm.states() == {"node1": "UP", "node2": "DOWN", "node3": "UP"}
    wait_for_ring(ccm, "node3", {**everyone_up, address(2): "DN"})
    wait_for_line(ccm, "node3", f"InetAddress /{address(2)} is now DOWN")
    ccm("node2", "start", "--wait-for-binary-proto", "--wait-other-notice")
    wait_for_ring(ccm, "node1", everyone_up)

    ccm("node3", "pause")
    state = (ccm.folder / "tried/node3/cassandra.pid").read_text()
    assert pathlib.Path(f"/proc/{state}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    ccm("node3", "resume")
    assert "written by cqlsh" in cqlsh(ccm, "node3", "SELECT v FROM ks.t WHERE k = 1")
    ccm("node1", "flush")
    ccm("node1", "stop", "--not-gently")
    ccm("node1", "start", "--wait-for-binary-proto")
    assert "written by cqlsh" in cqlsh(ccm, "node1", "SELECT v FROM ks.t WHERE k = 1")
    assert complaints(ccm) == []

    ccm("stop")
    assert set(ccm.states().values()) == {"DOWN"}
    ccm("remove")
    assert not (ccm.folder / "tried").exists()


def test_one_node_alone_and_another_that_is_added(ccm):
    ccm("populate", "-n", "1", "-i", PREFIX)
    ccm("node1", "start", "--wait-for-binary-proto")
    assert ccm.ring("node1") == {address(1): "UN"}
    ccm("add", "node2", "-i", address(2), "-j", "7200", "-b")
    ccm("node2", "start", "--wait-for-binary-proto", "--wait-other-notice")
    wait_for_ring(ccm, "node2", {address(1): "UN", address(2): "UN"})
    assert complaints(ccm) == []


def test_nodes_of_two_datacenters(ccm):
    ccm("populate", "-n", "1:1", "-i", PREFIX)
    ccm("start", "--wait-for-binary-proto", "--wait-other-notice")
    wait_for_ring(ccm, "node1", {address(1): "UN", address(2): "UN"})
    status = ccm("node2", "nodetool", "status")
    assert "Datacenter: dc1" in status and "Datacenter: dc2" in status, status
    assert complaints(ccm) == []


def test_a_setting_that_is_refused_is_in_the_error_of_the_start(ccm):
    ccm("populate", "-n", "1", "-i", PREFIX)
    ccm("updateconf", "cdc_enabled: true")
    ran = ccm.run("start", "--wait-for-binary-proto")
    assert "cdc_enabled: true is not supported yet" in ran.stdout + ran.stderr, ran.stdout + ran.stderr
    assert "cdc_enabled: true is not supported yet" in ccm.logs()
    assert ccm.states() == {"node1": "DOWN"}


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_nodes_log_is_read_on_while_an_address_is_looked_up(tmp_path):
    """A node writes its log as it works: it would stand still with a full pipe."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    nodetool = program(tmp_path / "helenus", f"read go <'{gate}'\necho 'UN 127.0.0.2 1KiB 16 ? some-host r1'")
    environment = {**os.environ, "HELENUS": nodetool, "JMX_PORT": "1"}
    with subprocess.Popen(
            ["sh", INSTALL_DIRECTORY / "bin" / "follow-log"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as follow:
        # More than all pipes on the way hold; the lookup waits for the gate.
        lines = ["INFO node is up host=some-host\n", *(f"{'x' * 100}\n" for _ in range(3000)), "WARN node is down host=some-host reason=\"its connection ended\"\n", "last\n"]
        writer = threading.Thread(target=lambda: (follow.stdin.writelines(lines), follow.stdin.close()))
        writer.start()
        assert [follow.stdout.readline() for _ in lines] == lines
        writer.join()
        gate.write_text("go\n")
        assert follow.stdout.read().splitlines() == [f"INFO  [main] InetAddress /127.0.0.2 is now {state}" for state in ("UP", "DOWN")]
    assert follow.returncode == 0


def test_a_node_that_says_nothing_is_killed_when_its_start_is_given_up(tmp_path):
    pid_file = tmp_path / "pid"
    silent = program(tmp_path / "helenus", f"echo $$ >'{tmp_path}/started'\nexec sleep {HUNG_SECONDS}")
    environment = {
        **os.environ, "HELENUS_BINARY": silent, "HELENUS_START_TIME": "1", "CASSANDRA_HOME": str(INSTALL_DIRECTORY), "CASSANDRA_LOG_DIR": str(tmp_path),
        "CASSANDRA_CONF": str(INSTALL_DIRECTORY / "conf")}
    ran = subprocess.run(
        ["sh", INSTALL_DIRECTORY / "bin" / "cassandra", "-p", str(pid_file)], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=HUNG_SECONDS)
    assert ran.returncode == 1 and "has said nothing for 1 s and is killed" in ran.stderr, ran.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)
    assert not list(tmp_path.glob("pid*"))
