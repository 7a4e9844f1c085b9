"""Starts the binary under test on free ports with a folder of its own, and judges its log when it has ended.

The thin Python twin of the Rust harness in tests/src. With HELENUS_AGAINST=host:port nothing is started and the tests talk to
what listens there: run against a real Cassandra, they show that they ask for what Cassandra does.

Suites in other languages run it as a program, `python3 server.py REACTOR SHARDS [FOLDER [AUTHENTICATOR]]`: it says where the server listens, ends it when
standard input ends, and fails when the log says something bad. So there is one judge for all of them. With a folder the server speaks TLS to clients that have a
certificate, and the folder gets the files of certificates.py. With an authenticator too, such as `MutualTlsAuthenticator`, they log in by it; with that of fallback a
client may have none. With `passwords` in place of the folder clients log in, as `admin` with `a password of the tests`.

Each line of standard input is a statement of the owner of the process, on the maintenance socket. It is answered by a line: `done`, or what went wrong.
"""

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from certificates import authenticator, make_certificates, options_of
from refusal import refuse_io_uring

PASSWORDS = ("--authenticator", "PasswordAuthenticator")
# The hash of "a password of the tests".
SUPERUSER = ("--auth-superuser-name", "admin", "--auth-superuser-salted-password", "$2b$04$abcdefghijklmnopqrstuuzzjWYX9ziq/z9PGEfqaY.69BPe06tMC")

READY_SECONDS_MAX = 10
LOG_SECONDS_MAX = 10
STOP_SECONDS_MAX = 20


class Server:
    def __init__(self, reactor="uring", shards=1, arguments=()):
        self.reactor, self.shards, self.arguments = reactor, shards, arguments
        self.lines = []
        self.foreign = os.environ.get("HELENUS_AGAINST")

    def __enter__(self):
        if self.foreign:
            host, port = self.foreign.rsplit(":", 1)
            self.host, self.port, self.shards = host, int(port), 1
            return self
        self.folder = tempfile.TemporaryDirectory(prefix="helenus-test-")
        self.host = "127.0.0.1"
        refused = self.reactor == "refused"
        command = [
            os.environ["HELENUS_BINARY"], "serve", "--data-dir", self.folder.name, "--port", "0", "--shard-aware-port", "0",
            "--api-port", "0", "--prometheus-port", "0",
            "--smp", str(self.shards), "--reactor", "auto" if refused else self.reactor, "--memory", "1G", "--overprovisioned", "1", *self.arguments,
        ]
        self.process = subprocess.Popen(
            command, cwd=self.folder.name, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=refuse_io_uring if refused else None)
        heard = queue.Queue()
        self.readers = [threading.Thread(target=self._read, args=(stream, heard)) for stream in (self.process.stdout, self.process.stderr)]
        for reader in self.readers:
            reader.start()
        self.port = self._port_of_ready_line(heard)
        if refused:
            self._wait_for_line("io_uring is refused", "Operation not permitted", "linux-aio")
            self._wait_for_line("ready", "epoll+aio")
        return self

    def __exit__(self, kind, value, traceback):
        if self.foreign:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "no end after SIGTERM"
        for reader in self.readers:
            reader.join()
        self.folder.cleanup()
        said = "\n".join(self.lines)
        assert code == 0, f"the server ended with {code}:\n{said}"
        bad = [line for line in self.lines if is_bad(line)]
        bad = hand_over_stalls(bad, f"{self.reactor}-{self.shards}")
        assert not bad, "the server's log says:\n" + "\n".join(bad)

    def of_owner(self, statement):
        """What went wrong with a statement of the owner of the process; nothing if it is done."""
        socket = os.path.join(self.folder.name, "maintenance", "cql.m")
        ran = subprocess.run([os.environ["HELENUS_BINARY"], "cql", socket, "-e", statement], capture_output=True, text=True)
        return (ran.stderr or ran.stdout) if ran.returncode else ""

    def _wait_for_line(self, *parts):
        """The log comes by another stream than the line that tells the port, and may come later."""
        deadline = time.monotonic() + LOG_SECONDS_MAX
        while not any(all(part in line for part in parts) for line in self.lines):
            assert time.monotonic() < deadline, (parts, self.lines)
            time.sleep(0.01)

    def _read(self, stream, heard):
        with stream:
            for line in stream:
                self.lines.append(line.rstrip("\n"))
                heard.put(line)

    def _port_of_ready_line(self, heard):
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            try:
                line = heard.get(timeout=0.05)
            except queue.Empty:
                if self.process.poll() is not None:
                    break
                continue
            found = re.search(r"ready.*?127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found.group(1))
        self.process.kill()
        raise AssertionError("the server said no ready line:\n" + "\n".join(self.lines))


def is_bad(line):
    """A poll over 5 ms, a panic, or an error that nobody handled."""
    return "panicked" in line or is_stall(line) or " ERROR " in line


def is_stall(line):
    return " WARN " in line and "stall" in line


def hand_over_stalls(bad, configuration):
    """Writes stalls where HELENUS_STALLS_TO says, each with the server's configuration before it: whoever runs the suite then judges
    them. Gives what is to be judged here."""
    path = os.environ.get("HELENUS_STALLS_TO")
    if path is None:
        return bad
    with open(path, "a") as file:
        file.writelines(f"{configuration} {line}\n" for line in bad if is_stall(line))
    return [line for line in bad if not is_stall(line)]


if __name__ == "__main__":
    arguments = ()
    if sys.argv[3:] == ["passwords"]:
        arguments = PASSWORDS + SUPERUSER
    elif len(sys.argv) > 3:
        make_certificates(sys.argv[3])
        name = "".join(sys.argv[4:])
        asked = "optional" if "Fallback" in name else "true"
        arguments = options_of(sys.argv[3], f"require_client_auth: {asked}", before=authenticator(name) if name else "")
    with Server(sys.argv[1], int(sys.argv[2]), arguments) as started:
        print(f"{started.host}:{started.port}", flush=True)
        for line in sys.stdin:
            print(" ".join(started.of_owner(line.strip()).split()) or "done", flush=True)
