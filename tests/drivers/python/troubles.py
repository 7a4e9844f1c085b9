"""Three nodes in a network of their own, which get into troubles one after the other, become five and three again, while drivers write and read through them.

`unshare --net python3 troubles.py CLIENTS` starts the nodes, each on a host of `network.py`, and says in two lines where they listen and where drivers' suites join. When as
many suites as CLIENTS have joined, it makes one trouble after the other, each for another node than the one before:

    calm   nothing happens, for comparison
    kill   SIGKILL, and a start some seconds later
    mute   the packets that the node sends are dropped, while it receives those of others, until the others take it for down
    deaf   the packets for the node are dropped, while the others receive its own, until they take it for down
    stop   SIGSTOP for five seconds, then SIGCONT

Then operators change the ring:

    join     two nodes join
    replace  a node is killed, and a node with an empty disk takes its place
    factor   the keyspace gets two replicas of each row, and three again
    leave    the two nodes that have joined are decommissioned, one after the other

A trouble is over when all nodes are up for each other and a write at ALL is done through each. A suite reads `begin NAME` from its connection when a trouble begins and `end` after the last, and answers
each but the first with what it saw since the one before: `row NAME REQUESTS FAILURES GAP_MS SLOWEST_MS`, the longest time without a success and the longest request. After the
last it reads all its acknowledged rows at QUORUM, and says `kept COUNT` or `lost COUNT`.

At last this prints the rows as a table, ends the nodes when standard input ends, and fails when a request failed, a row was lost, a suite did next to nothing or a log says
something bad. It judges no time: gaps are printed as figures beside their aim.
"""

import http.client
import json
import os
import pathlib
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import network
from server import hand_over_stalls, is_bad
from verdict import OPERATIONS, TROUBLES, Seen
from witness import HEADER, QUERY, READY, RESULT, STARTUP, VERSION, string

NODES = (1, 2, 3)
# Nodes that join.
MORE_NODES = (4, 5)
PORT, STORAGE_PORT, API_PORT = 9042, 7000, 10000
# No wait for a condition takes as long on any machine.
HUNG_SECONDS = 120
CONSISTENCY_ALL = 5
# How long a trouble lasts. A node that is silent is taken for down after two seconds.
CALM_SECONDS, KILLED_SECONDS, CUT_SECONDS, STOPPED_SECONDS = 2, 2, 3, 5
# From the end of one trouble to the next.
QUIET_SECONDS = 1
ROUNDS = 8 if os.environ.get("HELENUS_SOAK") else 1
REPLICATION = "{{'class': 'NetworkTopologyStrategy', 'datacenter1': {}}}"
SCHEMA = (
    f"CREATE KEYSPACE IF NOT EXISTS troubles WITH replication = {REPLICATION.format(3)}",
    "CREATE TABLE IF NOT EXISTS troubles.kept (client text, lane int, number int, PRIMARY KEY ((client, lane), number))",
    "CREATE TABLE IF NOT EXISTS troubles.probe (node int PRIMARY KEY)",
)


class Node:
    def __init__(self, number, host, folder):
        self.number, self.host = number, host
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"node{number}-", dir=folder))
        self.log, self.starts = self.folder / "log", 0
        self.start()

    def start(self, *more):
        address = self.host.address
        command = [
            os.environ["HELENUS_BINARY"], "serve", "--data-dir", str(self.folder / "data"), "--listen", address, "--listen-address", address,
            "--port", str(PORT), "--shard-aware-port", "0", "--storage-port", str(STORAGE_PORT),
            "--api-address", address, "--api-port", str(API_PORT), "--prometheus-port", "0",
            "--seeds", f"{network.PREFIX}.1,{network.PREFIX}.2", "--insecure", "--smp", "1", "--memory", "256M", "--overprovisioned", "1", *more,
        ]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*network.BOUND_TO_PARENT, *self.host.within(*command)], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.starts += 1

    def is_ready(self):
        """True if it has said so since its last start."""
        assert self.process.poll() is None, f"node {self.number} ended by itself with {self.process.returncode}"
        return self.log.read_text().count("Helenus is ready") == self.starts

    def ask(self, method, path):
        """The answer of the admin API, or None."""
        connection = http.client.HTTPConnection(self.host.address, API_PORT, timeout=HUNG_SECONDS)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            text = response.read()
            assert response.status == 200, f"{path}: {text.decode()}"
            return json.loads(text or b"null")
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def up(self):
        """The addresses of the nodes that are up for this one, if it says so."""
        return {node["endpoint"] for node in self.ask("GET", "/helenus/nodes") or () if node["is_up"]}

    def has_no_operation(self):
        """True if no operation is queued or runs, and no node has leftovers of one."""
        return self.ask("GET", "/helenus/operations") == {"operations": [], "unclean": []}

    def signal(self, number):
        assert self.process.poll() is None, f"node {self.number} ended by itself with {self.process.returncode}"
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """In order, if it still can."""
        if self.process.poll() is not None:
            return f"node {self.number} ended by itself with {self.process.returncode}"
        for number in (signal.SIGCONT, signal.SIGTERM):
            self.process.send_signal(number)
        try:
            code = self.process.wait(HUNG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "no end after SIGTERM"
        return None if code == 0 else f"node {self.number} ended with {code}"


def is_done(host, text):
    """True if a node carries out a statement at ALL."""
    try:
        with socket.create_connection((host, PORT), timeout=HUNG_SECONDS) as connection, connection.makefile("rb") as stream:

            def answer(opcode, body):
                connection.sendall(HEADER.pack(VERSION, 0, 1, opcode, len(body)) + body)
                head = stream.read(HEADER.size)
                if len(head) < HEADER.size:
                    return None
                _, _, _, opcode, length = HEADER.unpack(head)
                stream.read(length)
                return opcode

            if answer(STARTUP, struct.pack(">H", 1) + string("CQL_VERSION") + string("3.0.0")) != READY:
                return False
            return answer(QUERY, struct.pack(">i", len(text)) + text.encode() + struct.pack(">HB", CONSISTENCY_ALL, 0)) == RESULT
    except OSError:
        return False


def wait_for(what, condition):
    deadline = time.monotonic() + HUNG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


class Ring:
    def __init__(self, folder):
        self.folder, self.nodes, self.gone = folder, [], []
        self.hosts = dict(zip((*NODES, *MORE_NODES), network.hosts((*NODES, *MORE_NODES))))
        self.nodes.extend(self.new_node(number) for number in NODES)

    def new_node(self, number):
        return Node(number, self.hosts[number], self.folder)

    def prepare(self):
        wait_for("all nodes have joined", lambda: all([node.is_ready() for node in self.nodes]))
        for text in SCHEMA:
            wait_for(text, lambda text=text: is_done(self.nodes[0].host.address, text))
        wait_for("all nodes are up", self.is_whole)

    def is_whole(self):
        """True if all nodes are up for each of them, and each has a write done by all."""
        write = "INSERT INTO troubles.probe (node) VALUES ({})"
        return all(len(node.up()) == len(self.nodes) and is_done(node.host.address, write.format(node.number)) for node in self.nodes)

    def get_into(self, trouble, node):
        """Makes a trouble, and waits until it is over."""
        match trouble:
            case "calm":
                time.sleep(CALM_SECONDS)
            case "kill":
                node.kill()
                time.sleep(KILLED_SECONDS)
                node.start()
            case "mute" | "deaf":
                self.cut(node, "ingress" if trouble == "mute" else "egress")
            case "stop":
                node.signal(signal.SIGSTOP)
                time.sleep(STOPPED_SECONDS)
                node.signal(signal.SIGCONT)
            case "join":
                self.nodes.extend([self.new_node(number) for number in MORE_NODES])
            case "replace":
                node.kill()
                shutil.rmtree(node.folder / "data")
                others = [other for other in self.nodes if other is not node]
                wait_for(f"node {node.number} is down for the others", lambda: all(node.host.address not in other.up() for other in others))
                node.start("--replace", node.host.address)
            case "factor":
                for factor in (2, 3):
                    text = f"ALTER KEYSPACE troubles WITH replication = {REPLICATION.format(factor)}"
                    wait_for(text, lambda text=text: is_done(node.host.address, text))
                    wait_for(f"{factor} replicas", node.has_no_operation)
            case "leave":
                for leaving in [other for other in self.nodes if other.number in MORE_NODES]:
                    self.decommission(leaving)
        wait_for("all nodes have joined", lambda: all([member.is_ready() for member in self.nodes]))
        wait_for("operations are over", node.has_no_operation)
        wait_for(f"all nodes are up after {trouble} of node {node.number}", lambda: node.is_ready() and self.is_whole())
        time.sleep(QUIET_SECONDS)

    def decommission(self, node):
        self.nodes.remove(node)
        self.gone.append(node)
        node.ask("POST", "/storage_service/decommission")
        code = node.process.wait(HUNG_SECONDS)
        assert code == 0, f"node {node.number}, which is decommissioned, ended with {code}"

    def cut(self, node, direction):
        others = [other for other in self.nodes if other is not node]
        node.host.drop(direction)
        time.sleep(CUT_SECONDS)
        wait_for(f"node {node.number} is down for the others", lambda: all(node.host.address not in other.up() for other in others))
        node.host.heal(direction)

    def stop(self):
        """Ends the nodes; what is wrong with their ends and their logs."""
        wrong = [said for node in self.nodes if (said := node.stop())]
        for host in self.hosts.values():
            host.close()
        bad = [f"node {node.number}: {line}" for node in (*self.nodes, *self.gone) for line in node.log.read_text().splitlines() if is_bad(line)]
        return wrong + hand_over_stalls(bad, "troubles-auto-1")

    def logs(self):
        return "\n".join(f"node {node.number}:\n{node.log.read_text()}" for node in (*self.nodes, *self.gone))


def schedule():
    """The troubles in order, with the node that each is of, or that is asked: no two in turn are of the same, and over three rounds each node gets into each."""
    for turn in range(ROUNDS):
        for index, trouble in enumerate(("calm", *TROUBLES, *OPERATIONS)):
            yield trouble, NODES[(turn + index) % len(NODES)]


class Suite:
    """A driver's suite that has joined."""

    def __init__(self, connection):
        connection.settimeout(HUNG_SECONDS)
        self.connection, self.lines = connection, connection.makefile("r")
        self.name = self.read().removeprefix("join ")
        self.seen = Seen(self.name)

    def read(self):
        try:
            return self.lines.readline().rstrip("\n")
        except OSError as error:
            return f"silent: {error}"

    def tell(self, line):
        try:
            self.connection.sendall(f"{line}\n".encode())
        except OSError as error:
            self.seen.add(f"gone: {error}")


def tell_all(suites, line, answers):
    """Says a line to all suites, and takes what each answers. All hear of it before one is waited for."""
    for suite in suites:
        suite.tell(line)
    for suite in suites:
        for _ in range(answers):
            suite.seen.add(suite.read())


def join(listener, count):
    """The suites that join, until there are so many or standard input ends."""
    suites, waiting = [], selectors.DefaultSelector()
    waiting.register(sys.stdin, selectors.EVENT_READ)
    waiting.register(listener, selectors.EVENT_READ)
    while len(suites) < count:
        ready = [key.fileobj for key, _ in waiting.select()]
        if listener in ready:
            suites.append(Suite(listener.accept()[0]))
        elif sys.stdin in ready:
            raise AssertionError(f"only {[suite.name for suite in suites]} of {count} suites have joined")
    return suites


def run(ring, listener, count):
    """Makes the troubles; what the suites saw."""
    suites = join(listener, count)
    answers = 0
    for trouble, number in schedule():
        tell_all(suites, f"begin {trouble}", answers)
        answers = 1
        ring.get_into(trouble, ring.nodes[number - 1])
    tell_all(suites, "end", 2)
    return [suite.seen for suite in suites]


def main(count):
    # Whoever ends this program ends the nodes by it, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="helenus-troubles-") as folder, socket.socket(socket.AF_UNIX) as listener:
        address = f"{folder}/join"
        listener.bind(address)
        listener.listen()
        ring = Ring(folder)
        try:
            ring.prepare()
            print(",".join(f"{node.host.address}:{PORT}" for node in ring.nodes))
            print(address, flush=True)
            seen = run(ring, listener, count)
        except AssertionError as error:
            seen, wrong = [], [str(error), ring.logs()]
        else:
            wrong = [said for one in seen for said in one.complaints()]
            print("\n".join(Seen.table(seen)), flush=True)
            # The suites end by themselves.
            sys.stdin.read()
        finally:
            ended = ring.stop()
    wrong += ended
    if wrong:
        print("\n".join(wrong), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
