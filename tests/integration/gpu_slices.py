#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the GPU ioctls of a trace, in the order of their beginnings.

    gpu_slices.py FILE    TID NAME ARG=VALUE... [stack=OUTER>...>INNER], tab-separated
"""
import sys

from wire import fields, packets


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Reader:
    def __init__(self):
        self.interned = {}  # (sequence, kind, iid) -> message as a list of fields
        self.threads = {}  # track -> tid
        self.slices = []

    def packet(self, packet):
        get = dict(packet)
        sequence = get.get(10)
        for kind, entry in fields(get.get(12, b"")):
            message = list(fields(entry))
            self.interned[sequence, kind, dict(message)[1]] = message
        if 60 in get:
            track = dict(fields(get[60]))
            if 4 in track:
                self.threads[track[1]] = dict(fields(track[4]))[2]
        if 11 in get:
            self.event(sequence, get[8], list(fields(get[11])))

    def text(self, sequence, kind, iid):
        return dict(self.interned[sequence, kind, iid])[2].decode()

    def event(self, sequence, time, event):
        get = dict(event)
        if get.get(9) != 1 or get.get(11) not in self.threads or 3 not in get:
            return
        if self.text(sequence, 1, get[3]) != "gpu":
            return
        line = [self.text(sequence, 2, get[10])]
        line += [self.arg(sequence, v) for n, v in event if n == 4]
        if 56 in get:
            line.append("stack=" + self.stack(sequence, get[56]))
        self.slices.append((time, self.threads[get[11]], line))

    def arg(self, sequence, data):
        get = dict(fields(data))
        name = self.text(sequence, 3, get[1])
        if 6 in get:
            value = get[6].decode()
        elif 2 in get:
            value = "true" if get[2] else "false"
        elif 7 in get:
            value = hex(get[7])
        else:
            value = signed(get.get(4, get.get(3, 0)))
        return f"{name}={value}"

    def stack(self, sequence, iid):
        names = []
        for number, frame in self.interned[sequence, 7, iid]:
            if number == 2:
                get = dict(self.interned[sequence, 6, frame])
                names.append(self.text(sequence, 5, get[2]) if 2 in get else "?")
        return ">".join(names)


def main():
    reader = Reader()
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            reader.packet(packet)
    for _, tid, line in sorted(reader.slices, key=lambda s: s[0]):
        print(tid, *line, sep="\t")


main()
