# SPDX-License-Identifier: Apache-2.0
"""quic.py VERSION: the first packet of QUIC of either side, as far as it is in clear text."""
import os
import socket
import sys

FIRST = {"1": b"\xc3\x00\x00\x00\x01", "2": b"\xd3\x6b\x33\x43\xcf"}[sys.argv[1]]


def initial(to, own):
    head = FIRST + bytes([len(to)]) + to + bytes([len(own)]) + own
    return head + os.urandom(1200 - len(head))


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect(server.getsockname())
client.send(initial(b"8 bytes.", b"5 by."))
message, peer = server.recvfrom(2000)
server.sendto(initial(b"5 by.", b"four"), peer)
client.recv(2000)
