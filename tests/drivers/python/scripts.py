"""The scripts of tests/oracle as texts that a shell can read.

A block's statement is typed as it stands, ended by `;`. What its directives ask of the request is said by the shell's own commands (CONSISTENCY, PAGING); a block
whose directives no shell can express is left out, with the reason, and the rest of its script stays: both shells then find the same tables. Before each block
stands a command that prints a line of its own, by which the outputs are cut into the blocks'.
"""

import pathlib
import re

ORACLE = pathlib.Path(__file__).parents[2] / "oracle"
# The shell's command before each block, and the line that both shells print for it.
MARK = "EXPAND"
MARKED = "EXPAND is OFF"
KEYSPACE = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};"
KEYSPACES_OF_THE_SYSTEM = re.compile(r"system(_.*)?")
# Directives that ask what no command of cqlsh asks for.
LEFT_OUT = {
    "bind": "binds values", "values": "binds values", "prepare": "prepares only", "batch": "is a BATCH message", "timestamp": "sets the request's timestamp",
    "now": "sets the request's now", "keyspace": "sets the request's keyspace", "version": "speaks another version", "mask": "shows what varies by run",
}
# An answer over which the driver of cqlsh loses its connection: it takes no null element of a list, which only these functions give.
LOSING = re.compile(r"(?:ttl|writetime)\([^|]*\) list<")
# Values that cqlsh shows as Python does, or loses its connection over, and `helenus cql` as blobs.
COMPOSITE = re.compile(r"marshal\.(?:(?:Dynamic)?Composite|LexicalUUID)Type")
MADE = re.compile(r'CREATE\s+(KEYSPACE|ROLE|USER)\s+(?:IF\s+NOT\s+EXISTS\s+)?("(?:[^"]|"")+"|\w+)', re.IGNORECASE)
TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$.*?\$\$|--[^\n]*|//[^\n]*|/\*.*?\*/|(['"]|\$\$|/\*)""", re.DOTALL)


class Block:
    """A statement with its directives."""

    def __init__(self, piece):
        lines = piece.splitlines()
        self.directives = dict(line[1:].partition(" ")[::2] for line in lines if line.startswith("@"))
        self.answer = "\n".join(line for line in lines if line.startswith((">", "<")))
        self.statement = "\n".join(line for line in lines if not line.startswith(("@", "--", "> ", ">> ", "< ")) and line not in (">", ">>", "<"))

    def left_out(self):
        """Why no shell can ask it; nothing if it can."""
        for directive, reason in LEFT_OUT.items():
            if directive in self.directives:
                return reason
        if LOSING.search(self.answer):
            return "makes cqlsh lose its connection"
        if COMPOSITE.search(self.answer):
            return "answers values of composite types or of LexicalUUIDType"
        if any(found.group(1) for found in TOKEN.finditer(self.statement)):
            return "leaves a quote or a comment open"
        words = TOKEN.sub(" ", self.statement).upper().split()
        if words[:1] == ["BEGIN"] and "APPLY" not in words:
            return "leaves a batch open"
        return None

    def typed(self):
        before, after = [MARK], []
        if "consistency" in self.directives:
            before.append(f"CONSISTENCY {self.directives['consistency']}")
            after.append("CONSISTENCY ONE")
        if "serial" in self.directives:
            before.append(f"SERIAL CONSISTENCY {self.directives['serial']}")
            after.append("SERIAL CONSISTENCY SERIAL")
        if "page" in self.directives:
            before.append(f"PAGING {self.directives['page']}")
            after.append("PAGING 100")
        # A comment at the statement's end would hold its `;`.
        ends = [found.end() for found in TOKEN.finditer(self.statement) if found.group().startswith(("--", "//"))]
        is_comment = ends[-1:] == [len(self.statement)]
        end = "\n;" if is_comment else "" if self.statement.endswith(";") else ";"
        return before + [self.statement + end] + after


class Script:
    def __init__(self, path):
        self.name = str(path.relative_to(ORACLE))
        pieces = [piece.strip("\n") for piece in path.read_text().split("\n\n")]
        self.blocks = [block for block in map(Block, filter(None, pieces)) if block.statement]


def folders():
    """The scripts by their folders."""
    found = {}
    for path in sorted(ORACLE.rglob("*.cql")):
        found.setdefault(str(path.parent.relative_to(ORACLE)), []).append(path)
    return {folder: [Script(path) for path in paths] for folder, paths in found.items()}


class Text:
    """The text of several scripts for a shell, and whose each marked part is."""

    def __init__(self, scripts):
        self.lines, self.parts, self.left_out = [], [], {}
        made = set()
        for script in scripts:
            self._begin(script, made)
            waits = False
            for block in script.blocks:
                # A shell has no statement that waits, and what follows is answered by the index.
                waits = waits or "built" in block.directives
                reason = "waits until an index is built" if waits else block.left_out()
                if reason:
                    self.left_out[reason] = self.left_out.get(reason, 0) + 1
                    continue
                made.update((kind.upper(), name) for kind, name in MADE.findall(block.statement))
                self.parts.append((script.name, len(self.lines) + 1, block.statement))
                self._add(*block.typed())
        self._add(MARK, *self._dropped(made))
        self.parts.append(("the end", len(self.lines), ""))

    def _begin(self, script, made):
        self.parts.append((script.name, len(self.lines) + 1, "its keyspace"))
        self._add(MARK, *self._dropped(made), "DROP KEYSPACE IF EXISTS ks;", KEYSPACE, "USE ks;")
        made.clear()

    def _dropped(self, made):
        return [f"DROP {kind} IF EXISTS {name};" for kind, name in sorted(made) if name.lower() not in ("cassandra", "ks")]

    def _add(self, *texts):
        for text in texts:
            self.lines.extend(text.splitlines() or [""])

    def __str__(self):
        return "\n".join(self.lines) + "\n"
