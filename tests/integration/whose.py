#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
whose.py - what is in a trace, byte by byte, whatever field it is in.

    whose.py TRACE [+WORD...] [-WORD...] [%PID...]

Fails unless each +WORD is somewhere in it, no -WORD is, and no number in it, of an event, a
sample, a track or an entry, is one of the PIDs.
"""
import sys

from wire import fields, packets

trace, asked = sys.argv[1], sys.argv[2:]
wanted = {w[1:].encode() for w in asked if w[0] == "+"}
unwanted = {w[1:].encode() for w in asked if w[0] == "-"}
pids = {int(w[1:]) for w in asked if w[0] == "%"}


def numbers(value):
    """All numbers in it: of bytes that may be a message, or packed numbers, or a text, all."""
    if isinstance(value, int):
        yield value
        return
    number = shift = 0
    for byte in value:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
    try:
        inner = list(fields(value)) if value else []
    except (IndexError, ValueError):
        return
    for _, v in inner:
        yield from numbers(v)


found = {}
n = 0
for packet in packets(open(trace, "rb").read()):
    n += 1
    for field, value in packet:
        where = f"packet {n}, field {field}"
        for pid in pids.intersection(numbers(value) if pids else ()):
            found.setdefault(pid, where)
        if isinstance(value, bytes):
            for word in [w for w in wanted if w in value]:
                wanted.remove(word)
            for word in unwanted:
                if word in value:
                    found.setdefault(word.decode(), where)
if n == 0:
    sys.exit("no packets")
for what, where in found.items():
    print(what, "is there:", where)
for word in sorted(wanted):
    print(word.decode(), "is not there")
sys.exit(1 if found or wanted else 0)
