#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends what is no HTTP, TLS or DNS, or begins as such, to each PORT of ADDR: always the
same. Says "done" at its end.

    net_nonsense.py ADDR PORT...
"""
import contextlib
import random
import socket
import struct
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
random.seed(20261130)


def frame(kind, flags, stream, body, length=None):
    length = len(body) if length is None else length
    return struct.pack(">I", length)[1:] + struct.pack(">BBI", kind, flags, stream) + body


def hello(size):
    """A ClientHello that is `size` bytes long, over several records."""
    body = bytes([3, 3]) + random.randbytes(32) + b"\0" + struct.pack(">HH", 2, 0x1301) + b"\1\0"
    name = b"huge.test.lan"
    sni = struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    pad = b"\0\x15" + struct.pack(">H", size - 1000) + bytes(size - 1000)
    body += struct.pack(">H", (len(sni) + len(pad)) & 0xFFFF) + pad + sni
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"".join(
        b"\x16\3\1" + struct.pack(">H", len(message[i : i + 16384])) + message[i : i + 16384]
        for i in range(0, len(message), 16384)
    )


def cases():
    for n in 1, 3, 9, 100, 5000, 60000:
        yield random.randbytes(n)
    for kind in range(12):  # frames of any kind and length, right and wrong, cut
        yield PREFACE + frame(4, 0, 0, b"") + frame(kind, random.randrange(256), 1, random.randbytes(40))
        yield PREFACE + frame(kind, 4, 1, random.randbytes(40), length=0xFFFFFF)
        yield PREFACE[: random.randrange(len(PREFACE))]
    # HPACK: an index beyond the table, an integer without end, a string longer than all.
    for block in (b"\xbf\xff\xff\xff\x7f", b"\xff" * 20, b"\x40\x7f\xff\xff\xff\x7f", b"\x3f\xff\xff\xff\xff\x7f"):
        yield PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, block)
    yield PREFACE + frame(1, 0, 1, b"\x82") + frame(9, 0, 1, b"\x84") * 500  # CONTINUATIONs without end
    yield PREFACE + b"".join(frame(3, 0, i * 2 + 1, b"\0\0\0\x08") for i in range(500))
    for size in 2000, 20000, 64000:
        yield hello(size)
        yield hello(size)[: size // 2]
    yield b"\x16\3\1\xff\xff" + random.randbytes(70000)
    yield b"\x16\3\1\0\0" * 200
    yield b"GET " + b"/" + b"x" * 60000
    yield b"\r\n" * 20000
    yield b": :\r\n" * 5000
    # DNS: lengths that lie, names that point at themselves, a message in single bytes.
    yield b"\xff\xff" + random.randbytes(600)
    loop = b"\0\7\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1"
    yield struct.pack(">H", len(loop)) + loop
    yield (struct.pack(">H", 12) + b"\0\1\0\0\xff\xff\xff\xff\xff\xff\xff\xff") * 100


def send(addr, port, data):
    with contextlib.suppress(OSError), socket.create_connection((addr, port), 2) as s:
        s.settimeout(0.01)
        with contextlib.suppress(OSError):
            for i in range(0, len(data), 16384):
                s.sendall(data[i : i + 16384])
            s.recv(4096)
    if port == 53:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(data[:1400], (addr, port))


addr, *ports = sys.argv[1:]
n = 0
for port in ports:
    for data in cases():
        send(addr, int(port), data)
        n += 1
print("done:", n)
