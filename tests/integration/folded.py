#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU samples of a trace as folded stacks, by a reader of its own.

    folded.py FILE

Prints what `tracectl report --folded --no-inline --by thread FILE` should print,
sorted: a thread's name and number, the functions from the outermost on, a count.
"""
import bisect
import collections
import re
import sys

from wire import fields, packets


def text(data):
    return data.decode("utf-8", "replace")


class Names:
    """What threads were called, and when."""

    def __init__(self):
        self.claims = collections.defaultdict(list)

    def add(self, tid, time, name):
        self.claims[tid].append((time, len(self.claims[tid]), text(name)))

    def packet(self, packet):
        for number, value in packet:
            if number == 2:  # ProcessTree: threads
                for kind, entry in fields(value):
                    thread = dict(fields(entry)) if kind == 2 else {}
                    if 2 in thread:
                        self.add(thread[1], dict(packet).get(8, 0), thread[2])
            elif number == 1:  # FtraceEventBundle: task_newtask, task_rename
                for kind, entry in fields(value):
                    event = dict(fields(entry)) if kind == 2 else {}
                    for task, name in ((235, 2), (236, 3)):
                        if task in event:
                            about = dict(fields(event[task]))
                            self.add(about[1], event[1], about.get(name, b""))

    def at(self, tid, time):
        claims = self.claims.get(tid)
        if not claims:
            return "?"
        i = bisect.bisect_right([t for t, _, _ in claims], time)
        return claims[max(i, 1) - 1][2]


def main():
    names = Names()
    interned, lists = {}, {}  # (sequence, kind, iid) -> fields
    sources = {}
    symbols = {}  # (path, build id, address) -> name of the function itself
    samples = []
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            names.packet(packet)
            if get.get(13, 0) & 1:
                for table in (interned, lists):
                    for key in [k for k in table if k[0] == get[10]]:
                        del table[key]
            if 59 in get:
                defaults = dict(fields(dict(fields(get[59])).get(100, b"")))
                sources[get[10]] = text(defaults.get(1, b""))
            for kind, entry in fields(get.get(12, b"")):
                message = list(fields(entry))
                key = get[10], kind, dict(message)[1]
                interned.setdefault(key, dict(message))
                lists.setdefault(key, message)
            if 61 in get:
                module = dict(fields(get[61]))
                for number, entry in fields(get[61]):
                    if number == 3:
                        lines = [dict(fields(v)) for n, v in fields(entry) if n == 2]
                        address = dict(fields(entry))[1]
                        if lines:
                            key = module.get(1, b""), module.get(2, b""), address
                            symbols.setdefault(key, text(lines[-1][1]))
            if 135 in get and sources.get(get[10]) == "linux.perf":
                sequence, sample = get[10], dict(fields(get[135]))
                task = interned[sequence, 48, sample[2]]
                stack = []
                for number, iid in lists[sequence, 7, sample[6]]:
                    if number != 2:
                        continue
                    frame = interned[sequence, 6, iid]
                    mapping = interned[sequence, 19, frame[3]]
                    path = interned[sequence, 17, mapping[7]].get(2, b"")
                    build_id = b""
                    if 2 in mapping:
                        build_id = interned[sequence, 16, mapping[2]].get(2, b"")
                    name = text(interned[sequence, 5, frame[2]].get(2, b""))
                    stack.append((path, build_id, frame.get(4, 0), name))
                samples.append((get[8], task[3], stack))

    for claims in names.claims.values():
        claims.sort()

    def function(path, build_id, address, name):
        name = symbols.get((path, build_id, address), name)
        module = text(path).rsplit("/", 1)[-1]
        unnamed = re.fullmatch(r"\[(.*)\+0x[0-9a-f]+\]", name)
        if unnamed and unnamed[1] == module:
            name = f"[{module}]"
        return name.replace(";", ":")

    count = collections.Counter()
    for time, tid, stack in samples:
        thread = f"{names.at(tid, time)} [{tid}]"
        count[";".join([thread, *(function(*frame) for frame in stack)])] += 1
    for line in sorted(f"{stack} {n}" for stack, n in count.items()):
        print(line)


if __name__ == "__main__":
    main()
