# SPDX-License-Identifier: Apache-2.0
"""The wire format of a trace, for tests: a reader of its own, so that a test does
not ask our writer about our writer."""
import zlib


def fields(data):
    """(number, value) of each field of a message; value is an int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            yield key >> 3, int.from_bytes(data[at : at + size], "little")
            at += size
        elif kind == 2:
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind}")


def packets(data):
    """The packets of a trace, each a list of fields; compressed blocks are unpacked."""
    for number, value in fields(data):
        if number != 1:
            continue
        packet = list(fields(value))
        blocks = [v for n, v in packet if n == 50]
        if not blocks:
            yield packet
        for block in blocks:
            yield from packets(zlib.decompress(block))


def packed(data):
    """The varints of a packed repeated field."""
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
