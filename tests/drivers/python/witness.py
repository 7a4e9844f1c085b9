"""A connection of protocol version 4 without a driver, registered for events of nodes."""

import socket
import struct

# A machine that takes longer than this hangs.
PATIENCE_SECONDS = 60
VERSION = 4
STARTUP, READY, QUERY, RESULT, REGISTER, EVENT = 0x01, 0x02, 0x07, 0x08, 0x0B, 0x0C
CONSISTENCY_ONE = 1
HEADER = struct.Struct(">BBhBi")


class Witness:
    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=PATIENCE_SECONDS)
        self.stream = self.socket.makefile("rb")
        # Events that came before an answer, and the addresses of which there was an event.
        self.unread, self.seen = [], set()
        self.ask(STARTUP, struct.pack(">H", 1) + string("CQL_VERSION") + string("3.0.0"), READY)
        kinds = ["TOPOLOGY_CHANGE", "STATUS_CHANGE"]
        self.ask(REGISTER, struct.pack(">H", len(kinds)) + b"".join(map(string, kinds)), READY)

    def ask(self, opcode, body, expected):
        """Sends a request, and keeps the events that come before its answer."""
        self.socket.sendall(HEADER.pack(VERSION, 0, 1, opcode, len(body)) + body)
        while (frame := self.read())[0] == EVENT:
            self.keep(frame[1])
        assert frame[0] == expected, frame

    def read(self):
        head = self.stream.read(HEADER.size)
        assert len(head) == HEADER.size, "the node closed the connection"
        _, _, _, opcode, length = HEADER.unpack(head)
        return opcode, self.stream.read(length)

    def keep(self, body):
        """The node may have accepted this client a moment before it knew that another one is up: so a first UP has no reason."""
        change, address = event(body)
        is_late = change == "UP" and address not in self.seen
        self.seen.add(address)
        if not is_late:
            self.unread.append((change, address))

    def next(self):
        """The next event: the change and the address."""
        while not self.unread:
            opcode, body = self.read()
            assert opcode == EVENT, (opcode, body)
            self.keep(body)
        return self.unread.pop(0)

    def unread_events(self):
        """The events that were not waited for. All that were sent are there: the node writes them in order with an answer."""
        text = b"SELECT key FROM system.local"
        self.ask(QUERY, struct.pack(">i", len(text)) + text + struct.pack(">HB", CONSISTENCY_ONE, 0), RESULT)
        unread, self.unread = self.unread, []
        return unread

    def close(self):
        self.stream.close()
        self.socket.close()


def string(text):
    return struct.pack(">H", len(text)) + text.encode()


def event(body):
    """The change and the address of an event of a node."""
    at = 2 + struct.unpack_from(">H", body)[0]
    length, = struct.unpack_from(">H", body, at)
    change = body[at + 2:at + 2 + length].decode()
    address = body[at + 3 + length:at + 3 + length + body[at + 2 + length]]
    return change, socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)
