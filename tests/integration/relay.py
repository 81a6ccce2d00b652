#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relay.py SOCKET DAEMON: passes what one client says on to the daemon at once, and what the
daemon says, but for its greeting, all in one piece when it has said the last word: what a
client sees that was not given a CPU for a while. The last word is the end of a recording, which
is taken for said when nothing has come for two seconds."""
import os
import socket
import sys

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
client = listener.accept()[0]
daemon = socket.socket(socket.AF_UNIX)
daemon.connect(sys.argv[2])

daemon.sendall(client.recv(1 << 16))  # hello
client.sendall(daemon.recv(1 << 16))
daemon.sendall(client.recv(1 << 16))  # start
daemon.settimeout(2)
held = b""
try:
    while piece := daemon.recv(1 << 16):
        held += piece
except TimeoutError:
    pass
client.sendall(held)
# The connection stays: only what was said can tell the client that it is over.
client.recv(1)
os._exit(0)
