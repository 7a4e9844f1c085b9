"""Both Python drivers on a ring of three nodes that get into troubles. `troubles.py` runs the ring and says when a trouble begins; `cargo xtask drivers` runs both."""

import os
import socket
import threading
import time

import cassandra
import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import ConstantReconnectionPolicy, ConstantSpeculativeExecutionPolicy, RoundRobinPolicy

WORKERS = 8
# Each worker writes and reads so many rows at most in a second.
PERIOD_SECONDS = 0.08
LANES = 16
# One more execution, not two: where all three hosts have been asked, one that fails ends the request with NoHostAvailable while the others are under way.
SPECULATION_SECONDS, SPECULATIONS = 0.05, 1
REQUEST_SECONDS_MAX = 30
NODES = [address.rsplit(":", 1) for address in os.environ.get("HELENUS_RING", "").split(",") if address]
# DataStax's driver and ScyllaDB's install the same module.
DRIVER = "scylla-driver" if "scylla" in cassandra.__file__ else "cassandra-driver"


class Seen:
    """What the workers saw since the last trouble began."""

    def __init__(self):
        self.lock = threading.Lock()
        self.errors = []
        self.begin()

    def begin(self):
        self.requests = self.failures = 0
        self.gap = self.slowest = 0.0
        self.last = time.monotonic()

    def note(self, began, error=None):
        with self.lock:
            now = time.monotonic()
            self.requests += 1
            self.slowest = max(self.slowest, now - began)
            if error is not None:
                self.failures += 1
                self.errors.append(error)
                return
            self.gap, self.last = max(self.gap, now - self.last), now

    def turn(self):
        """Ends one trouble's row, and begins another."""
        with self.lock:
            gap = max(self.gap, time.monotonic() - self.last)
            row = f"{self.requests} {self.failures} {gap * 1000:.2f} {self.slowest * 1000:.2f}"
            self.begin()
            return row


class Worker(threading.Thread):
    def __init__(self, number, session, write, read, seen, is_over):
        super().__init__()
        self.number, self.session, self.write, self.read, self.seen, self.is_over = number, session, write, read, seen, is_over
        self.kept = []

    def key(self, number):
        return DRIVER, self.number * LANES + number % LANES, number

    def ask(self, statement, number):
        """The rows, or None where the request failed."""
        began = time.monotonic()
        try:
            rows = self.session.execute(statement, self.key(number)).all()
        except Exception as error:
            self.seen.note(began, f"{type(error).__name__}: {error}")
            return None
        self.seen.note(began)
        return rows

    def run(self):
        number = 0
        while not self.is_over.is_set():
            began = time.monotonic()
            if self.ask(self.write, number) is not None:
                self.kept.append(number)
            if self.kept:
                earlier = self.kept[number % len(self.kept)]
                rows = self.ask(self.read, earlier)
                if rows == []:
                    self.seen.errors.append(f"row {self.key(earlier)} was acknowledged and is not read")
            number += 1
            self.is_over.wait(max(0.0, began + PERIOD_SECONDS - time.monotonic()))


def lost(session, workers):
    """The acknowledged rows that QUORUM does not read."""
    lane = session.prepare("SELECT number FROM troubles.kept WHERE client = ? AND lane = ?")
    lane.consistency_level, lane.is_idempotent = ConsistencyLevel.QUORUM, True
    there = {(number, row.number) for number in range(WORKERS * LANES) for row in session.execute(lane, (DRIVER, number))}
    return [key for worker in workers for key in map(worker.key, worker.kept) if key[1:] not in there]


@pytest.fixture
def session():
    assert len(NODES) == 3, "HELENUS_RING names no three nodes: `cargo xtask drivers` starts them"
    profile = ExecutionProfile(
        load_balancing_policy=RoundRobinPolicy(), request_timeout=REQUEST_SECONDS_MAX, consistency_level=ConsistencyLevel.QUORUM,
        speculative_execution_policy=ConstantSpeculativeExecutionPolicy(SPECULATION_SECONDS, SPECULATIONS))
    cluster = Cluster(
        contact_points=[host for host, _ in NODES], port=int(NODES[0][1]), execution_profiles={EXEC_PROFILE_DEFAULT: profile}, protocol_version=4,
        reconnection_policy=ConstantReconnectionPolicy(0.25, None))
    yield cluster.connect()
    cluster.shutdown()


def test_no_idempotent_request_fails(session):
    write = session.prepare("INSERT INTO troubles.kept (client, lane, number) VALUES (?, ?, ?)")
    read = session.prepare("SELECT number FROM troubles.kept WHERE client = ? AND lane = ? AND number = ?")
    write.is_idempotent = read.is_idempotent = True
    seen, is_over = Seen(), threading.Event()
    workers = [Worker(number, session, write, read, seen, is_over) for number in range(WORKERS)]
    failures = 0
    with socket.socket(socket.AF_UNIX) as ring:
        ring.connect(os.environ["HELENUS_RING_COMMANDS"])
        ring.sendall(f"join Python {DRIVER}\n".encode())
        trouble = None
        try:
            for line in ring.makefile("r"):
                if trouble is None:
                    seen.turn()
                    for worker in workers:
                        worker.start()
                else:
                    row = seen.turn()
                    failures += int(row.split()[1])
                    ring.sendall(f"row {trouble} {row}\n".encode())
                if line == "end\n":
                    break
                trouble = line.split()[1]
        finally:
            is_over.set()
            for worker in workers:
                if worker.ident:
                    worker.join()
        missing = lost(session, workers)
        kept = sum(len(worker.kept) for worker in workers)
        ring.sendall(f"lost {len(missing)}\n".encode() if missing else f"kept {kept}\n".encode())
    assert not missing, f"{len(missing)} of {kept} acknowledged rows are lost: {missing[:10]}"
    assert not failures and not seen.errors, seen.errors[:10]
