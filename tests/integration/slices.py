#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the slices on threads' tracks of a trace, in the order of their ends.

    slices.py FILE           TID BEGIN_NS END_NS CATEGORY NAME ARG=VALUE..., tab-separated
    slices.py --nested FILE  the same; slices may lie within others
    slices.py --calls FILE   TID NAME FD RESULT [PEER], as prog/netcalls prints what it did

Exits with 1 when slices of a thread overlap or do not end.
"""
import sys

from wire import fields, packets


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Reader:
    def __init__(self, nested):
        self.nested = nested
        self.names = {}  # (sequence, kind, iid) -> text
        self.threads = {}  # track -> tid
        self.open = {}  # track -> slice
        self.last_end = {}  # track -> ns
        self.slices = []

    def packet(self, packet):
        get = dict(packet)
        sequence = get.get(10)
        for kind, entry in fields(get.get(12, b"")):
            if kind in (1, 2, 3):
                interned = dict(fields(entry))
                text = interned[2].decode()
                self.names[sequence, kind, interned[1]] = text
        if 60 in get:
            track = dict(fields(get[60]))
            if 4 in track:
                self.threads[track[1]] = dict(fields(track[4]))[2]
        if 11 in get:
            self.event(sequence, get[8], list(fields(get[11])))

    def event(self, sequence, time, event):
        get = dict(event)
        track = get.get(11)
        if track not in self.threads:
            return
        if get[9] == 1:
            name = self.names[sequence, 2, get[10]]
            category = self.names.get((sequence, 1, get.get(3)), "-")
            args = [self.arg(sequence, v) for n, v in event if n == 4]
            self.open[track] = [self.threads[track], time, None, category, name, dict(args)]
            if time < self.last_end.get(track, 0) and not self.nested:
                raise SystemExit(f"{name} of {self.threads[track]} at {time} overlaps")
        elif get[9] == 2:
            done = self.open.pop(track)
            done[2] = self.last_end[track] = time
            self.slices.append(done)

    def arg(self, sequence, data):
        get = dict(fields(data))
        name = self.names[sequence, 3, get[1]]
        if 6 in get:
            return name, get[6].decode()
        if 2 in get:
            return name, "true" if get[2] else "false"
        return name, signed(get.get(4, get.get(3, get.get(7, 0))))


def main():
    calls = sys.argv[1] == "--calls"
    reader = Reader(sys.argv[1] == "--nested")
    with open(sys.argv[-1], "rb") as f:
        for packet in packets(f.read()):
            reader.packet(packet)
    if reader.open:
        raise SystemExit(f"{len(reader.open)} slices do not end")
    for tid, begin, end, category, name, args in reader.slices:
        if not calls:
            texts = [f"{k}={v}" for k, v in args.items()]
            print(tid, begin, end, category, name, *texts, sep="\t")
            continue
        result = [args[k] for k in ("error", "bytes", "messages", "new_fd", "ready", "ret") if k in args]
        peer = [args["peer"]] if "peer" in args else []
        print(tid, name, args.get("fd", -1), result[0] if result else 0, *peer)


main()
