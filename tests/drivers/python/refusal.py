"""What Docker's default seccomp profile does to io_uring: each of its calls is answered EPERM.

As a command, `refusal.py PROGRAM ARGUMENT…`, it becomes that program, which is refused."""

import ctypes
import os
import struct
import sys

CALLS = (425, 426, 427)  # io_uring_setup, io_uring_enter, io_uring_register: the same number on every architecture
LOAD_CALL, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("statements", ctypes.c_void_p)]


def statement(code, if_equal, value):
    return struct.pack("HBBI", code, if_equal, 0, value)


# Everything is made beforehand: between fork and exec there are only the two calls.
STATEMENTS = [statement(LOAD_CALL, 0, 0)]
STATEMENTS += [statement(JUMP_IF_EQUAL, len(CALLS) - index, call) for index, call in enumerate(CALLS)]
STATEMENTS += [statement(RETURN, 0, ALLOW), statement(RETURN, 0, EPERM)]
BYTES = ctypes.create_string_buffer(b"".join(STATEMENTS))
PROGRAM = Program(len(STATEMENTS), ctypes.addressof(BYTES))
LIBC = ctypes.CDLL(None)


def refuse_io_uring():
    """For the process that calls it and those that it starts."""
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or LIBC.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(PROGRAM)) != 0:
        raise OSError("the filter is refused")


if __name__ == "__main__":
    refuse_io_uring()
    os.execv(sys.argv[1], sys.argv[1:])
