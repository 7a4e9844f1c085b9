"""Clients from another address of loopback that do not log in: strangers.py HOST PORT WHAT COUNT SOURCE.

`guess`: each sends wrong passwords in a closed loop, one after the other. Says how many had an answer; at each line of standard input, and when it has ended, how many answers were
BAD_CREDENTIALS and how many OVERLOADED. `idle`: each sends, by turns, nothing; STARTUP; STARTUP
and the beginning of a frame of 256 MiB; STARTUP and a part of a long login. Then it waits. Says how many were asked for a password and how many are kept, those that sent nothing
among them; when standard input has ended, how many of these the server has closed. `flood`: each asks for
options without an end and reads nothing. Says how many do; when standard input has ended, how many of them the server has closed.
"""

import resource
import socket
import struct
import sys
import threading
import time

host, port, what, count, source = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
SECONDS_MAX = 60
BAD_CREDENTIALS, OVERLOADED = 0x0100, 0x1001
ERROR, AUTHENTICATE = 0x00, 0x03


def frame(opcode, body):
    return bytes([4, 0, 0, 1, opcode]) + struct.pack(">i", len(body)) + body


STARTUP = frame(0x01, b"\0\1\0\x0bCQL_VERSION\0\x053.0.0")


def auth_response(token):
    return frame(0x0F, struct.pack(">i", len(token)) + token)


def receive(one):
    """The opcode and the body of a frame; None at the end."""
    with one.makefile("rb", buffering=0) as file:
        head = read(file, 9)
        return head and (head[4], read(file, struct.unpack(">i", head[5:])[0]))


def read(file, length):
    data = b""
    while len(data) < length:
        part = file.read(length - len(data))
        if not part:
            return None
        data += part
    return data


def connect():
    return socket.create_connection((host, port), SECONDS_MAX, (source, 0))


def guess(number, answered, codes, over):
    """Connects again when its time to log in is over."""
    tries = 0
    while not over.is_set():
        try:
            with connect() as one:
                one.sendall(STARTUP)
                answer = receive(one)
                while answer and not over.is_set():
                    tries += 1
                    one.sendall(auth_response(b"\0cassandra\0guess %d %d" % (number, tries)))
                    answer = receive(one)
                    if answer and answer[0] == ERROR:
                        codes.append(struct.unpack(">i", answer[1][:4])[0])
                        answered.add(number)
        except OSError:
            continue


def main_guess():
    answered, codes, over = set(), [], threading.Event()
    threads = [threading.Thread(target=guess, args=(number, answered, codes, over)) for number in range(count)]
    for thread in threads:
        thread.start()
    while len(answered) < count:
        over.wait(0.01)
    print(len(answered), flush=True)
    for _ in sys.stdin:
        print(codes.count(BAD_CREDENTIALS), codes.count(OVERLOADED), flush=True)
    over.set()
    for thread in threads:
        thread.join()
    print(codes.count(BAD_CREDENTIALS), codes.count(OVERLOADED), flush=True)


# What follows AUTHENTICATE: nothing, the header of a frame that is never allowed with some of its bytes, a part of a login.
PARTS = [b"", frame(0x0F, b"")[:5] + struct.pack(">i", 256 << 20) + bytes(8_000), frame(0x0F, bytes(16_000))[:8_000]]


def main_idle():
    asked, kept = 0, []
    for number in range(count):
        try:
            one = connect()
            if number % 4:
                one.sendall(STARTUP)
                answer = receive(one)
                if not answer or answer[0] != AUTHENTICATE:
                    continue
                one.sendall(PARTS[number % 4 - 1])
                asked += 1
            kept.append(one)
        except OSError:
            continue
    print(asked, len(kept), flush=True)
    sys.stdin.read()
    print(sum(is_closed(one) for one in kept), flush=True)


def main_flood():
    asking, sent = [], {}
    for _ in range(count):
        one = socket.socket()
        # What the kernel keeps of answers is not the server's memory.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.bind((source, 0))
        one.connect((host, port))
        one.setblocking(False)
        asking.append(one)
    print(len(asking), flush=True)
    requests = frame(0x05, b"") * 7000
    closed = set()
    while len(closed) < count:
        for one in set(asking) - closed:
            try:
                begin = sent.get(one, 0)
                sent[one] = (begin + one.send(requests[begin:])) % len(requests)
            except BlockingIOError:
                continue
            except OSError:
                closed.add(one)
        time.sleep(0.01)
    sys.stdin.read()
    print(len(closed), flush=True)


def is_closed(one):
    try:
        while receive(one):
            pass
        return True
    except ConnectionError:
        return True
    except OSError:
        return False


{"guess": main_guess, "idle": main_idle, "flood": main_flood}[what]()
