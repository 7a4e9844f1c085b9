"""`helenus cql` at a terminal of 40 columns: lines that are typed ahead, pages, passwords, Ctrl-C, and what both shells then show."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pytest

from server import PASSWORDS, SUPERUSER, Server

SECONDS_MAX = 60
COLUMNS = 40
PASSWORD = "a password of the tests"
SETUP = """CREATE KEYSPACE typed WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
CREATE TABLE typed.t (k int, c int, v text, PRIMARY KEY (k, c));
"""
# Sequences by which an editor moves and draws.
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, program, server, home, *arguments):
        command = [*program, server.host, str(server.port), "-u", "admin", "--request-timeout=60", "--connect-timeout=60", "--disable-history", *arguments]
        self.text = ""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ.update(HOME=str(home), TERM="xterm")
            os.environ.pop("HELENUS_PASSWORD", None)
            os.execvp(command[0], command)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        os.close(self.terminal)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, text):
        """What is shown from the last call up to a text."""
        deadline = time.monotonic() + SECONDS_MAX
        while text not in self.text:
            left = deadline - time.monotonic()
            assert left > 0, f"no {text!r} in {self.text!r}"
            if select.select([self.terminal], [], [], min(left, 0.5))[0]:
                self.text += SEQUENCE.sub("", os.read(self.terminal, 1 << 16).decode(errors="replace"))
        shown, self.text = self.text.split(text, 1)
        return shown


@pytest.fixture(scope="module")
def server():
    with Server("epoll", 1, PASSWORDS + SUPERUSER) as server:
        rows = "".join(f"INSERT INTO typed.t (k, c, v) VALUES (1, {row}, '{'v' * 60}');\n" for row in range(250))
        assert not server.of_owner(f"{SETUP}{rows}".strip())
        yield server


@pytest.fixture
def shell(server, tmp_path):
    with Terminal([os.environ["HELENUS_BINARY"], "cql"], server, tmp_path, "-k", "typed") as shell:
        shell.until("Password: ")
        shell.type(PASSWORD + "\r")
        assert PASSWORD not in shell.until("admin@cqlsh:typed> ")
        yield shell


def test_lines_that_are_typed_ahead_are_all_taken(shell):
    shell.type("SELECT c\rFROM t\rWHERE k = 1 AND c = 7;\rPAGING 100\rSELECT c FROM t WHERE k = 1;\r\r\rEXPAND\rSELECT count(*) FROM t WHERE k = 1;\r")
    assert " 7\n" in shell.until("Page size: 100")
    assert " 99\n" in shell.until("---MORE---") and " 199\n" in shell.until("---MORE---")
    assert "(250 rows)" in shell.until("EXPAND is OFF")
    assert "250" in shell.until("(1 rows)")


def test_a_page_more_can_be_given_up(shell):
    shell.type("SELECT c FROM t WHERE k = 1;\r")
    shell.until("---MORE---")
    shell.type("\x03")
    shell.until("admin@cqlsh:typed> ")
    shell.type("EXPAND\r")
    assert " 100\n" not in shell.until("EXPAND is OFF")


def test_a_password_is_shown_nowhere(shell):
    # The second line is the password, also where it is typed before it is asked for.
    shell.type(f"LOGIN admin\r{PASSWORD}\rEXPAND\r")
    assert PASSWORD not in shell.until("EXPAND is OFF")
    shell.type("LOGIN admin\r")
    shell.until("Password: ")
    shell.type("wrong\r")
    shown = shell.until("admin@cqlsh:typed> ")
    assert "Bad credentials" in shown and "wrong" not in shown


def test_an_interrupt_gives_up_what_is_typed_and_what_runs(shell):
    shell.type("SELECT c FROM\r")
    shell.until("... ")
    shell.type("\x03")
    shell.until("admin@cqlsh:typed> ")
    shell.type("COPY t FROM STDIN;\r")
    shell.until("[copy] ")
    shell.type("2,1,x\r")
    shell.until("[copy] ")
    shell.type("\x03")
    shell.until("admin@cqlsh:typed> ")
    shell.type("EXPAND\r")
    shell.until("EXPAND is OFF")


def test_a_table_is_as_wide_as_its_values(server, shell, tmp_path):
    """A terminal breaks what is wider than it; no shell cuts it."""
    shown = []
    with Terminal(["cqlsh"], server, tmp_path, "-k", "typed", "-p", PASSWORD) as theirs:
        theirs.until("admin@cqlsh:typed> ")
        for each in (theirs, shell):
            each.type("SELECT * FROM t WHERE k = 1 AND c IN (1, 2);\r")
            each.until(";")
            shown.append([line for line in each.until("(2 rows)").split("\n") if "vvv" in line or "---" in line])
    assert shown[0] == shown[1] and len(shown[0]) == 3
