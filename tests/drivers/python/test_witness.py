"""The ring's judgement of events, on a node that is played: it finds events that come twice, in another order, or for no reason."""

import socket
import struct
import threading

import pytest

from ring import Ring
from witness import EVENT, HEADER, QUERY, READY, RESULT, VERSION, Witness, string

ADDRESS, OTHER = "127.9.9.2", "127.9.9.3"
DOWN, UP = ("DOWN", ADDRESS), ("UP", ADDRESS)


def frame(opcode, body, stream=1):
    return HEADER.pack(VERSION | 0x80, 0, stream, opcode, len(body)) + body


def event_frame(change, address):
    kind = "TOPOLOGY_CHANGE" if change.endswith("NODE") else "STATUS_CHANGE"
    body = string(kind) + string(change) + b"\x04" + socket.inet_aton(address) + struct.pack(">i", 9042)
    return frame(EVENT, body, stream=-1)


def play(listener, events):
    """Greets one client, then sends it the events, and answers whatever it asks until it leaves."""
    client, _ = listener.accept()
    with client, client.makefile("rb") as requests:
        for count in range(1 << 10):
            head = requests.read(HEADER.size)
            if len(head) < HEADER.size:
                return
            _, _, _, opcode, length = HEADER.unpack(head)
            requests.read(length)
            client.sendall(frame(RESULT if opcode == QUERY else READY, b""))
            # After STARTUP and REGISTER.
            if count == 1:
                client.sendall(b"".join(event_frame(*event) for event in events))


@pytest.fixture
def ring_of(tmp_path):
    """A ring whose only witness hears these events."""
    opened = []

    def make(*events):
        listener = socket.create_server(("127.0.0.1", 0))
        player = threading.Thread(target=play, args=(listener, events))
        player.start()
        ring = Ring(tmp_path)
        ring.witnesses[1] = Witness(*listener.getsockname())
        opened.append((listener, player, ring.witnesses[1]))
        return ring

    yield make
    for listener, player, witness in opened:
        witness.close()
        player.join()
        listener.close()


def test_each_event_once_and_in_order_is_right(ring_of):
    ring = ring_of(DOWN, UP)
    ring.expect({DOWN})
    ring.expect({UP})
    ring.judge_silence()


def test_an_event_that_comes_twice_is_found(ring_of):
    ring = ring_of(DOWN, DOWN, UP)
    ring.expect({DOWN})
    with pytest.raises(AssertionError, match="DOWN"):
        ring.expect({UP})


def test_an_event_too_many_is_found_in_the_silence_after(ring_of):
    ring = ring_of(DOWN, UP, UP)
    ring.expect({DOWN})
    ring.expect({UP})
    with pytest.raises(AssertionError, match="without a reason"):
        ring.judge_silence()


@pytest.mark.parametrize("stray", [("NEW_NODE", ADDRESS), ("REMOVED_NODE", ADDRESS), ("DOWN", OTHER)])
def test_an_event_without_a_reason_is_found(ring_of, stray):
    ring = ring_of(DOWN, stray, UP)
    ring.expect({DOWN})
    with pytest.raises(AssertionError, match=stray[0]):
        ring.expect({UP})


def test_two_nodes_may_be_up_in_either_order(ring_of):
    ring = ring_of(DOWN, ("DOWN", OTHER), ("UP", OTHER), UP)
    ring.expect({DOWN})
    ring.expect({("DOWN", OTHER)})
    ring.expect({UP, ("UP", OTHER)})
    ring.judge_silence()


def test_a_first_up_is_of_the_time_before_the_client(ring_of):
    ring = ring_of(UP, DOWN, UP)
    ring.expect({DOWN})
    ring.expect({UP})
    ring.judge_silence()
