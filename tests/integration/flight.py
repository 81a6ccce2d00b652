#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where a snapshot begins and what it knows: flight.py FILE [PID...]

Nothing in it is older than it says it begins; it is not empty at its beginning; every thread
that ran or was sampled has a name and a process. Of each PID: "PID NAME slice EARLIER", a slice
on one of its threads that began so many ns before the snapshot and has no end in it.
"""
import sys

from wire import fields, packed, packets

SAMPLES = 16  # the sequence of CPU samples


class Snapshot:
    def __init__(self):
        self.attributes = {}
        self.first = None  # the earliest time
        self.first_switch = None
        self.first_tree = None
        self.processes, self.threads = {}, {}
        self.ran, self.sampled = set(), set()
        self.tasks, self.names = {}, {}  # (sequence, iid) -> (pid, tid), name
        self.tracks = {}  # uuid -> pid
        self.early = []

    def at(self, time, what):
        if self.first is None or time < self.first[0]:
            self.first = (time, what)

    def tree(self, tree, time):
        self.first_tree = min(self.first_tree or time, time)
        for number, value in fields(tree):
            entry = list(fields(value))
            get = dict(entry)
            if number == 1:
                self.processes[get[1]] = [v.decode(errors="replace") for n, v in entry if n == 3]
            elif number == 2:
                self.threads[get[1]] = (get.get(3), get.get(2, b"").decode(errors="replace"))

    def bundle(self, bundle):
        for number, value in fields(bundle):
            if number == 2:
                event = dict(fields(value))
                self.at(event[1], "ftrace event")
                if 235 in event:  # task_newtask
                    task = dict(fields(event[235]))
                    self.threads.setdefault(task[1], (None, task[2].decode(errors="replace")))
                if 4 in event:  # sched_switch
                    self.ran.add(dict(fields(event[4]))[6])
                    self.first_switch = min(self.first_switch or event[1], event[1])
            elif number == 4:
                compact = dict(fields(value))
                for times in (1, 7):
                    for time in packed(compact.get(times, b"")):
                        self.at(time, "compact event")
                        break
                self.ran.update(packed(compact.get(3, b"")))

    def interned(self, sequence, data):
        for number, value in fields(data):
            if number == 48:
                task = dict(fields(value))
                self.tasks[sequence, task[1]] = (task[2], task[3])
            elif number == 2:
                name = dict(fields(value))
                self.names[sequence, name[1]] = name[2].decode()

    def event(self, sequence, event):
        get = dict(event)
        args = {}
        for number, value in event:
            if number == 4:
                arg = dict(fields(value))
                if 10 in arg:
                    args[arg[10].decode()] = arg.get(3)
        if "began_earlier_ns" in args:
            pid = self.tracks.get(get[11])
            self.early.append((pid, self.names[sequence, get[10]], args["began_earlier_ns"]))

    def packet(self, packet):
        get = dict(packet)
        sequence, time = get.get(10), get.get(8)
        if get.get(13, 0) & 1:
            for table in (self.tasks, self.names):
                for key in [k for k in table if k[0] == sequence]:
                    del table[key]
        if 12 in get:
            self.interned(sequence, get[12])
        if time is not None and 6 not in get:
            self.at(time, [n for n in get if n not in (8, 10, 12, 13, 87)])
        if 2 in get:
            self.tree(get[2], time)
        if 1 in get:
            self.bundle(get[1])
        if 60 in get:
            track = dict(fields(get[60]))
            if 4 in track:
                self.tracks[track[1]] = dict(fields(track[4]))[1]
        if 11 in get:
            self.event(sequence, list(fields(get[11])))
        if 135 in get and sequence == SAMPLES:
            self.sampled.add(self.tasks[sequence, dict(fields(get[135]))[2]])
        if 126 in get:
            for _, attribute in fields(get[126]):
                entry = dict(fields(attribute))
                self.attributes[entry[1].decode()] = entry.get(2, entry.get(3))


def main():
    snapshot = Snapshot()
    faults = []
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            snapshot.packet(packet)
    begin = snapshot.attributes["tracer.snapshot.begin_ns"]
    end = snapshot.attributes["tracer.snapshot.end_ns"]
    if snapshot.first[0] < begin:
        faults.append(f"{snapshot.first[1]} {begin - snapshot.first[0]} ns before the beginning")
    if snapshot.first_tree != begin:
        faults.append("no process tree as of the beginning")
    if snapshot.first_switch is None or snapshot.first_switch > begin + (end - begin) / 2:
        faults.append("nothing happens in the first half")
    for tid in snapshot.ran:
        if tid and tid not in snapshot.threads:
            faults.append(f"thread {tid} ran and has no name")
    for pid, tid in snapshot.sampled:
        if pid and (pid not in snapshot.processes or tid not in snapshot.threads):
            faults.append(f"thread {tid} of {pid} was sampled and has no name")
    print(f"{(end - begin) / 1e9:.3f} s, {len(snapshot.processes)} processes")
    for pid, name, earlier in snapshot.early:
        if str(pid) in sys.argv[2:]:
            print(pid, name, "slice", earlier)
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
