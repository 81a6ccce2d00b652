#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the waits of a trace, in the order of their ends.

    waits.py FILE   TID BEGIN_NS END_NS NAME ARG=VALUE..., tab-separated

Exits with 1 when waits of a thread overlap or do not end, or an arrow leads to
none.
"""
import sys

from wire import fields, packets


class Reader:
    def __init__(self):
        self.names = {}  # (sequence, kind, iid) -> text
        self.threads = {}  # uuid of a thread's track -> tid
        self.tracks = {}  # uuid of its track "Waits" -> tid
        self.open = {}  # track -> slice
        self.last_end = {}  # track -> ns
        self.waits, self.runnable = [], []
        self.starts, self.ends = {}, {}  # flow id -> ns

    def packet(self, packet):
        get = dict(packet)
        sequence = get.get(10)
        for kind, entry in fields(get.get(12, b"")):
            if kind in (1, 2, 3):
                interned = dict(fields(entry))
                self.names[sequence, kind, interned[1]] = interned[2].decode()
        if 60 in get:
            track = dict(fields(get[60]))
            if 4 in track:
                self.threads[track[1]] = dict(fields(track[4]))[2]
            elif track.get(2) == b"Waits":
                self.tracks[track[1]] = self.threads[track[5]]
        if 11 in get:
            self.event(sequence, get[8], list(fields(get[11])))

    def event(self, sequence, time, event):
        get = dict(event)
        track = get.get(11)
        if track not in self.tracks:
            return
        if get[9] == 2:
            self.end(track, time)
            return
        name = self.names[sequence, 2, get[10]]
        if get[9] == 3:
            self.starts[get[47]] = time
            return
        args = dict(self.arg(sequence, v) for n, v in event if n == 4)
        self.open[track] = [self.tracks[track], time, None, name, args]
        if 47 in get:
            self.ends[get[47]] = time

    def end(self, track, time):
        done = self.open.pop(track)
        done[2] = time
        if done[3] == "runnable":  # within the wait, which is written next
            self.runnable.append(done)
            return
        if done[1] < self.last_end.get(track, 0):
            raise SystemExit(f"{done[3]} of {done[0]} at {done[1]} overlaps")
        self.last_end[track] = time
        self.waits.append(done)

    def arg(self, sequence, data):
        get = dict(fields(data))
        name = self.names[sequence, 3, get[1]]
        if 6 in get:
            return name, get[6].decode()
        if 2 in get:
            return name, "true" if get[2] else "false"
        return name, get.get(4, get.get(3, get.get(7, 0)))


def main():
    reader = Reader()
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            reader.packet(packet)
    if reader.open:
        raise SystemExit(f"{len(reader.open)} waits do not end")
    for flow, time in reader.ends.items():
        if reader.starts.get(flow) != time:
            raise SystemExit(f"an arrow at {time} comes from nowhere")
    for tid, begin, end, name, args in reader.waits:
        print(tid, begin, end, name, *(f"{k}={v}" for k, v in args.items()), sep="\t")


main()
