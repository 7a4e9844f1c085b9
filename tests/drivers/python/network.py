"""Three hosts in a network of their own: each is a network namespace, and a bridge joins them with the namespace of this program.

So a host's packets can be dropped in one direction, as a broken link does: TCP sees no end, only silence. It is done by a filter of the kernel's at the host's port of the
bridge (`tc`, cls_bpf), since all that a host sends passes it, whatever its source address.

This program must run in a namespace that was made for it (`unshare --net`); all of it vanishes with its last process. A process here ends with this program.
"""

import os
import subprocess
import time

# No change of the network takes as long on any machine.
HUNG_SECONDS = 30
PREFIX = "10.86.0"
# The address of this program, and of the clients beside it.
CLIENTS = f"{PREFIX}.254/24"
# Drops IPv4 (the frame's type is at byte 12), and lets everything else pass: the hosts still find each other's hardware addresses.
DROP_IPV4 = "4,40 0 0 12,21 0 1 2048,6 0 0 2,6 0 0 4294967295"
# Ends a process with its parent.
BOUND_TO_PARENT = ["setpriv", "--pdeathsig", "KILL"]


def change(*words):
    ran = subprocess.run(words, capture_output=True, text=True, timeout=HUNG_SECONDS, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, f"{' '.join(words)}: {ran.stdout}{ran.stderr}"


def namespace(process):
    return os.readlink(f"/proc/{process}/ns/net")


class Host:
    """A namespace, which a process that sleeps keeps."""

    def __init__(self, number):
        self.address, self.port = f"{PREFIX}.{number}", f"host{number}"
        self.keeper = subprocess.Popen([*BOUND_TO_PARENT, "unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + HUNG_SECONDS
        while namespace(self.keeper.pid) == namespace("self"):
            assert self.keeper.poll() is None and time.monotonic() < deadline, "no network namespace: this needs root"
            time.sleep(0.001)
        change("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self.keeper.pid))
        change("ip", "link", "set", self.port, "master", "hosts", "up")
        change("tc", "qdisc", "add", "dev", self.port, "clsact")
        for words in (["address", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            change(*self.within("ip", *words))

    def within(self, *words):
        """The command that runs these words on this host."""
        return ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net", *words]

    def drop(self, direction):
        """From now on the packets that it sends (`ingress`: into the bridge) or those for it (`egress`) are dropped. The others pass."""
        change("tc", "filter", "add", "dev", self.port, direction, "protocol", "all", "prio", "1", "bpf", "da", "bytecode", DROP_IPV4)

    def heal(self, direction):
        change("tc", "filter", "delete", "dev", self.port, direction, "prio", "1")

    def close(self):
        self.keeper.kill()
        self.keeper.wait()


def hosts(numbers):
    """A new network of these hosts."""
    with open("/proc/net/route") as routes:
        assert len(routes.readlines()) < 2, "this needs a network namespace of its own, which has no routes: unshare --net"
    change("ip", "link", "set", "lo", "up")
    change("ip", "link", "add", "hosts", "type", "bridge")
    change("ip", "address", "add", CLIENTS, "dev", "hosts")
    change("ip", "link", "set", "hosts", "up")
    return [Host(number) for number in numbers]
