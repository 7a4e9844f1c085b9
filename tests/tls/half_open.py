"""Opens many connections from another address of loopback, and keeps them: half_open.py HOST PORT COUNT SOURCE. On every other one half of a TLS handshake is sent, on the rest nothing.

Says how many were opened, and ends when standard input does.
"""

import resource
import socket
import sys

host, port, count, source = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
# A record of the handshake, of 512 bytes, in which a hello begins; most of it never comes.
HALF = bytes([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]) + bytes(100)
kept = []
for number in range(count):
    try:
        one = socket.create_connection((host, port), 10, (source, 0))
        if number % 2:
            one.sendall(HALF)
    except OSError:
        continue
    kept.append(one)
print(len(kept), flush=True)
sys.stdin.read()
