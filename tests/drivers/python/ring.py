"""A ring of three nodes for the drivers' suites, made by `helenus cluster`, with a witness of every event that the nodes send.

As a program without words, `python3 ring.py`, it starts the ring and says in two lines where its nodes listen and where it takes commands. It ends the nodes when
standard input ends, and fails when one of them sent an event that no command accounts for or when a log says something bad. With a command, and
HELENUS_RING_COMMANDS in the environment, it has the ring carry that out:

    python3 ring.py kill 2    kills a node, and waits until the others have sent one DOWN of it
    python3 ring.py start     starts the nodes that are down, and waits until they accept clients
    python3 ring.py settle    waits until the nodes that were up all the time have sent one UP of each that was started

On each node a connection without a driver is registered for events of nodes, since drivers merge events and make some of their own. An event that comes
twice, in another order, or for no reason fails the command that finds it.
"""

import os
import pathlib
import selectors
import signal
import socket
import subprocess
import sys
import tempfile

from server import hand_over_stalls, is_bad
from witness import Witness

NODES = (1, 2, 3)
# No command takes as long on any machine: `helenus cluster` itself gives up after less.
HUNG_SECONDS = 400
# As `helenus serve` has it: the shard-aware port above the CQL port.
SHARD_AWARE_OFFSET = 10_000


class Ring:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.prefix = f"127.{10 + os.getpid() % 200}.{os.getpid() // 200 % 200}"
        self.port, self.storage_port, self.api_port = free_ports(3)
        # Nodes that are killed, and nodes of which the witnesses wait for UP.
        self.witnesses, self.down, self.returning = {}, set(), set()

    def run(self, *words):
        command = [os.environ["HELENUS_BINARY"], "cluster", "--dir", str(self.folder / "cluster"), *words]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HUNG_SECONDS)
        assert ran.returncode == 0, f"helenus cluster {' '.join(words)}: {ran.stdout}{ran.stderr}\n{self.logs()}"

    def address(self, node):
        return f"{self.prefix}.{node}"

    def found(self):
        """Starts the cluster, node by node: so each witness but the last one's sees a node join. From then on each node has a witness while it runs."""
        ports = ["--port", str(self.port), "--storage-port", str(self.storage_port), "--api-port", str(self.api_port)]
        self.run("start", "--nodes", "1", "--prefix", self.prefix, *ports)
        for node in NODES:
            if self.witnesses:
                self.run("add")
                self.expect({("NEW_NODE", self.address(node))})
                self.expect({("UP", self.address(node))})
            self.watch(node)

    def watch(self, node):
        self.witnesses[node] = Witness(self.address(node), self.port)

    def kill(self, node):
        self.settle()
        self.run("kill", str(node))
        self.down.add(node)
        self.witnesses.pop(node).close()
        self.expect({("DOWN", self.address(node))})

    def start(self):
        self.run("start")
        self.returning |= self.down
        self.down.clear()

    def settle(self):
        # Two nodes that are started at once may be up in either order.
        self.expect({("UP", self.address(node)) for node in self.returning})
        for node in self.returning:
            self.watch(node)
        self.returning.clear()
        self.judge_silence()

    def expect(self, events):
        """Waits until each witness has these events, each once, and none else before."""
        for number, witness in self.witnesses.items():
            missing = set(events)
            while missing:
                try:
                    event = witness.next()
                except TimeoutError:
                    raise AssertionError(f"node {number} sends none of {missing}\n{self.logs()}") from None
                assert event in missing, f"node {number} sent {event} in place of {missing}"
                missing.remove(event)

    def judge_silence(self):
        """An event that was sent twice, or is of no command, would be there before the answer to a question."""
        for number, witness in self.witnesses.items():
            events = witness.unread_events()
            assert not events, f"node {number} sent {events} without a reason"

    def stop(self):
        for witness in self.witnesses.values():
            witness.close()
        try:
            self.run("stop")
        except (AssertionError, subprocess.TimeoutExpired):
            # A node that does not end in order must not stay behind either. One that is down already is no reason to spare the others.
            for node in NODES:
                subprocess.run([os.environ["HELENUS_BINARY"], "cluster", "--dir", str(self.folder / "cluster"), "kill", str(node)], check=False)
            raise

    def log(self, node):
        path = self.folder / "cluster" / f"node{node}" / "log"
        return path.read_text() if path.exists() else ""

    def logs(self):
        return "\n".join(f"node {node}:\n{self.log(node)}" for node in NODES)

    def judge(self):
        bad = [f"node {node}: {line}" for node in NODES for line in self.log(node).splitlines() if is_bad(line)]
        bad = hand_over_stalls(bad, "ring-auto-1")
        assert not bad, "the nodes' logs say:\n" + "\n".join(bad)

    def serve(self, listener):
        """Carries out one command after the other until standard input ends."""
        waiting = selectors.DefaultSelector()
        waiting.register(sys.stdin, selectors.EVENT_READ)
        waiting.register(listener, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in waiting.select()]
            if sys.stdin in ready and not sys.stdin.buffer.read1(4096):
                return
            if listener in ready:
                client, _ = listener.accept()
                with client:
                    client.sendall(self.carry_out(client.makefile().readline()).encode())

    def carry_out(self, line):
        try:
            match line.split():
                case ["kill", node] if int(node) in self.witnesses:
                    self.kill(int(node))
                case ["start"]:
                    self.start()
                case ["settle"]:
                    self.settle()
                case _:
                    return f"there is no command {line!r} of nodes that run"
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return "done"


def free_ports(count):
    """Different ports of loopback; each has room above for the shard-aware one."""
    held = []
    try:
        while len(held) < count:
            one = socket.socket()
            one.bind(("127.0.0.1", 0))
            if one.getsockname()[1] + SHARD_AWARE_OFFSET < 1 << 16:
                held.append(one)
            else:
                one.close()
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def run_ring():
    # Whoever ends this program ends the nodes by it, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="helenus-ring-") as folder, socket.socket(socket.AF_UNIX) as listener:
        ring = Ring(folder)
        commands = f"{folder}/commands"
        listener.bind(commands)
        listener.listen()
        try:
            ring.found()
            print(",".join(f"{ring.address(node)}:{ring.port}" for node in NODES))
            print(commands, flush=True)
            ring.serve(listener)
            ring.settle()
        finally:
            ring.stop()
        ring.judge()


def ask(words):
    with socket.socket(socket.AF_UNIX) as ring:
        ring.connect(os.environ["HELENUS_RING_COMMANDS"])
        ring.sendall((" ".join(words) + "\n").encode())
        answer = ring.makefile().read()
    if answer != "done":
        sys.exit(f"ring.py {' '.join(words)}: {answer or 'the ring has ended'}")


if __name__ == "__main__":
    if sys.argv[1:]:
        ask(sys.argv[1:])
    else:
        run_ring()
