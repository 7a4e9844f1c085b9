"""Runs cqlsh against a server and reads what it says."""

import subprocess

CONFIGURATIONS = [("uring", 2), ("epoll", 1)]
SECONDS_MAX = 120


def run(server, *arguments, text=None):
    command = ["cqlsh", server.host, str(server.port), "--no-color", "--request-timeout=60", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS_MAX)


def cqlsh(server, statements, *arguments):
    done = run(server, *arguments, "-e", statements)
    assert done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr
    # This cqlsh is of 5.0.0's age and says so to every later server, the real one too.
    return "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("WARNING: cqlsh was built against")).strip()


def words(text):
    return " ".join(text.split())
