"""The scripts of tests/oracle through both shells, against one server: they print the same.

A soak runs all of them, a process of each shell for a folder. A change runs a part, by its commit's hash, in one process of each; `HELENUS_SCRIPTS=N/M` chooses it again, and
`HELENUS_SCRIPTS=0/1` all. What no shell can express is left out and counted, by reason, and so is each part of an output that differs on purpose.
"""

import bisect
import os
import re
import subprocess
from collections import Counter

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy

from scripts import KEYSPACES_OF_THE_SYSTEM, MARKED, Text, folders
from server import Server

# A change's part of the scripts takes half a minute.
PARTS = 16
SECONDS_MAX = 1_800
SHOWN_MAX = 12


def chosen():
    """The number of the part, and how many there are."""
    if os.environ.get("HELENUS_SCRIPTS"):
        return tuple(map(int, os.environ["HELENUS_SCRIPTS"].split("/")))
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    if os.environ.get("HELENUS_SOAK") or git.returncode:
        return 0, 1
    return int(git.stdout[:16], 16) % PARTS, PARTS


def groups():
    """Scripts that a process of each shell runs, by a name."""
    part, parts = chosen()
    if parts == 1:
        return folders()
    every = [script for scripts in folders().values() for script in scripts]
    return {f"part-{part}-of-{parts}": every[part::parts]}


GROUPS = groups()


class Node:
    """A server, and a driver's session on it for what the test itself asks."""

    def __init__(self, server):
        self.server = server
        profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=60)
        self.cluster = Cluster([server.host], port=server.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        self.session = self.cluster.connect()

    def clear(self):
        """Drops what a run left, but roles, which each script drops itself."""
        for (keyspace,) in self.session.execute("SELECT keyspace_name FROM system_schema.keyspaces"):
            if not KEYSPACES_OF_THE_SYSTEM.fullmatch(keyspace):
                self.session.execute('DROP KEYSPACE "{}"'.format(keyspace.replace('"', '""')))


def printed(program, node, file, parts):
    """What a shell prints for each part of a text, its errors with it, and its code."""
    command = [*program, node.server.host, str(node.server.port), "--no-color", "--request-timeout=60", "-f", str(file)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS_MAX)
    # This cqlsh is of 5.0.0's age and says so to every later server, the real one too.
    output = b"".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith(b"WARNING: cqlsh was built against"))
    pieces = output.decode(errors="surrogateescape").split(MARKED + "\n")
    assert len(pieces) == len(parts) + 1, f"{program} prints {len(pieces) - 1} marks of {len(parts)}: {pieces[-1][-2000:]}"
    assert pieces[0] == "", pieces[0]
    errors = [""] * len(parts)
    lines = [line for _, line, _ in parts]
    at = 0
    # A shell names the line after the statement.
    for line in done.stderr.decode(errors="surrogateescape").splitlines(keepends=True):
        # Python's own, once in a process.
        if "DateOverFlowWarning" in line:
            continue
        place = re.match(re.escape(str(file)) + r":(\d+):", line)
        at = bisect.bisect_right(lines, int(place.group(1)) - 1) - 1 if place else at
        errors[at] += line
    return list(zip(pieces[1:], errors, strict=True)), done.returncode


def squeezed(text):
    """Without the widths of columns."""
    return re.sub(r"-+", "-", re.sub(r" +", " ", text))


def unwrapped(text):
    """Errors as their places and messages, without the driver's wraps."""
    text = re.sub(r'(?m)^(.*?:\d+:)(?:NoHostAvailable|Unavailable|OverloadedErrorMessage): .*message=\\?"(.*?)\\?"(?: info=.*|[>}].*)$', r"\1\2", text)
    text = re.sub(r"(?m)^(.*?:\d+:)(?:ServerError|OverloadedErrorMessage): ", r"\1", text)
    return text.replace("\\'", "'")


def without_traceback(text):
    """An error that cqlsh does not catch, as those that it does."""
    return re.sub(r"(?m)^(.*?:\d+:)Traceback .*(?:\n .*)*\ncassandra\.(.*)\n\n", r"\1\2\n", text)


def names_alone(text):
    """The first line of a table, and how many rows it has."""
    return re.sub(r"(?m)^(-[-+]+-)\n(?: .*\n)*", r"\1\n", squeezed(text))


# What docs/guide/cql.md names: what it is, how cqlsh's text is known by it, and what is then compared of both.
DIFFERENCES = [
    ("cqlsh does not catch the error", re.compile(r"(?m)^cassandra\.FunctionFailure"), without_traceback),
    ("cqlsh cannot show the value", re.compile("Failed to format value|:Traceback "), lambda text: ""),
    ("cqlsh takes a function's keyspace for the table's", re.compile(r"not found in keyspace"), lambda text: ""),
    ("an error that the driver tries on the next host", re.compile(r":NoHostAvailable: "), unwrapped),
    ("columns of one name", re.compile(r"(?m)^ (?:.* \| )?(.+?) +\| (?:.* \| )?\1(?: +\|.*)?\n-[-+]+-$"), names_alone),
    ("a null within a tuple", re.compile(r"\bNone\b"), lambda text: squeezed(re.sub("'?None'?", "null", text))),
    # Python finds each element's place by comparisons, which fail with a NaN, a null and a timestamp beyond its years; and it takes both zeros for one.
    ("a set that Python orders otherwise", re.compile(r"\{[^{}]*(?:\bNaN\b|\bNone\b|'-?\d{15,}')"), lambda text: squeezed(re.sub("'?None'?", "null", re.sub(r"\{[^{}]*\}", "{}", text)))),
    ("an empty collection", re.compile(r"\[\]|\{\}"), squeezed),
]


def difference(theirs, ours):
    """The name of what differs on purpose; an empty one if nothing differs, none if it is not on purpose."""
    if theirs == ours:
        return ""
    for name, sign, compared in DIFFERENCES:
        if any(map(sign.search, theirs)) and [compared(text) for text in theirs] == [compared(text) for text in ours]:
            return name
    return None


@pytest.fixture(scope="module")
def node():
    with Server("uring", 2) as server:
        node = Node(server)
        yield node
        node.cluster.shutdown()


@pytest.mark.parametrize("name", GROUPS)
def test_scripts_print_the_same(node, name, tmp_path, request):
    file = tmp_path / "scripts.cql"
    text = Text(GROUPS[name])
    file.write_text(str(text))
    ran = []
    for program in (["cqlsh"], [os.environ["HELENUS_BINARY"], "cql"]):
        ran.append(printed(program, node, file, text.parts))
        node.clear()
    (theirs, their_code), (ours, our_code) = ran
    found = [difference(*pair) for pair in zip(theirs, ours, strict=True)]
    differing = [place for place, difference in enumerate(found) if difference is None]
    on_purpose = Counter(filter(None, found))
    say(request, f"{name}: {len(GROUPS[name])} scripts, {len(text.parts) - len(GROUPS[name]) - 1} statements; left out: {told(text.left_out)}; differ on purpose: {told(on_purpose)}")
    shown = [f"{text.parts[place]}\ncqlsh: {theirs[place]}\nhelenus: {ours[place]}" for place in differing[:SHOWN_MAX]]
    assert not differing, f"{len(differing)} statements are answered otherwise:\n" + "\n\n".join(shown)
    assert our_code == their_code


def told(counts):
    return ", ".join(f"{count} ({reason})" for reason, count in sorted(counts.items())) or "nothing"


def say(request, line):
    """A line of the run's output, whether the test passes or not."""
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        reporter.ensure_newline()
        reporter.write_line(f"shells: {line}")
