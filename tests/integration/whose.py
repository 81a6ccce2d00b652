#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
whose.py - what is in a trace, byte by byte, whatever field it is in.

    whose.py TRACE [+WORD...] [-WORD...] [%PID...]

Fails unless each +WORD is somewhere in it, no -WORD is, and no process or thread in it, of an
event, a sample, a track or an entry, is one of the PIDs.
"""
import sys

from wire import fields, packed, packets

trace, asked = sys.argv[1], sys.argv[2:]
wanted = {w[1:].encode() for w in asked if w[0] == "+"}
unwanted = {w[1:].encode() for w in asked if w[0] == "-"}
pids = {int(w[1:]) for w in asked if w[0] == "%"}


# Fields of a packet, and of what is in it, that lead to numbers of processes.
BUNDLE, EVENT, TIMESTAMP, COMPACT, NEXT_PID, WAKING_PID = 1, 2, 1, 4, 3, 8
TREE, START = 2, 7
DESCRIPTOR, PROCESS, THREAD = 60, 3, 4
INTERNED, TASK, IID = 12, 48, 1


def numbers(message, but):
    return [v for n, v in fields(message) if isinstance(v, int) and n != but]


def pids_in(packet):
    for field, value in packet:
        if field not in (BUNDLE, TREE, DESCRIPTOR, INTERNED):
            continue
        for number, inner in fields(value):
            if field == BUNDLE and number == EVENT:
                yield from numbers(inner, TIMESTAMP)
                for _, payload in fields(inner):
                    if isinstance(payload, bytes):
                        yield from numbers(payload, None)
            elif field == BUNDLE and number == COMPACT:
                for column, pids in fields(inner):
                    if column in (NEXT_PID, WAKING_PID):
                        yield from packed(pids)
            elif field == TREE and isinstance(inner, bytes):
                yield from numbers(inner, START)
            elif field == DESCRIPTOR and number in (PROCESS, THREAD):
                yield from numbers(inner, START)
            elif field == INTERNED and number == TASK:
                yield from numbers(inner, IID)


found = {}
n = 0
for packet in packets(open(trace, "rb").read()):
    n += 1
    for pid in pids.intersection(pids_in(packet) if pids else ()):
        found.setdefault(pid, f"packet {n}")
    for field, value in packet:
        where = f"packet {n}, field {field}"
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
