#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Are the Python stacks of a trace what the programs say they are?

    pystacks_check.py FILE EXPECTED [MAX_FRAMES]

EXPECTED has the lines of pystacks.py. Of each mode a line is printed,
tab-separated: MODE, how many samples threads of that name have at that time, how
many of them are as expected, and what the most frequent others look like.

A stack is as expected when its Python frames are the ones that were said, with file
and line, native frames are where "~" was said and nowhere else but innermost, and
CPython's evaluation function is not among them. Where there are more than MAX_FRAMES
Python frames a frame must say so, in place of those that are further out.
"""
import sys
from collections import Counter, defaultdict

from wire import fields, packets

INTERPRETED = 3
EVALUATION = "_PyEval_EvalFrameDefault"
GAP = "[python frames missing] ?:0"


class Trace:
    def __init__(self, path):
        self.names = defaultdict(set)  # (pid, tid) -> names of the thread
        self.interned = {}  # (sequence, kind, iid) -> message as a list of fields
        self.samples = []  # (time, sequence, sample)
        with open(path, "rb") as f:
            for packet in packets(f.read()):
                self.packet(dict(packet))

    def packet(self, get):
        for number, value in fields(get.get(2, b"")):
            entry = dict(fields(value))
            if number == 2:
                self.names[entry[3], entry[1]].add(entry.get(2, b"").decode())
        for kind, entry in fields(get.get(12, b"")):
            message = list(fields(entry))
            self.interned[get[10], kind, dict(message)[1]] = message
        if 135 in get:
            self.samples.append((get[8], get[10], dict(fields(get[135]))))

    def string(self, sequence, kind, iid):
        return dict(self.interned[sequence, kind, iid]).get(2, b"").decode()

    def thread(self, sequence, sample):
        context = dict(self.interned[sequence, 48, sample[2]])
        return context[2], context[3]

    def path(self, sequence, frame):
        """Of the file that a frame is in; the kernel and its modules have none."""
        for number, value in self.interned[sequence, 19, frame[3]]:
            if number == 7:
                return self.string(sequence, 17, value)
        return ""

    def python_stack(self, sequence, sample):
        """Python frames as "NAME FILE:LINE", native ones in a row as "~"."""
        stack = []
        for number, iid in self.interned[sequence, 7, sample[6]]:
            if number != 2:
                continue
            frame = dict(self.interned[sequence, 6, iid])
            name = self.string(sequence, 5, frame[2])
            path = self.path(sequence, frame)
            if frame.get(7) == INTERPRETED:
                file = self.string(sequence, 18, frame[5]) if 5 in frame else "?"
                stack.append(f"{name} {file}:{frame.get(6, 0)}")
            elif name.startswith(EVALUATION):
                stack.append(name)
            elif path[:1] in ("", "/", "[") and stack[-1:] != ["~"]:
                stack.append("~")
        return stack


def alternatives(line):
    """The stacks that a line of EXPECTED allows."""
    *outer, innermost = line
    where, _, last = innermost.rpartition("/")
    first = where
    second = where.rpartition(":")[0] + ":" + last
    for innermost in first, second:
        yield outer + [innermost]
        yield outer + [innermost, "~"]


def cut(stack, max_frames):
    """What is left of a deep stack of one single run of Python frames."""
    python = [frame for frame in stack if frame != "~"]
    if len(python) <= max_frames:
        return stack
    return ["~", GAP] + python[-max_frames:] + stack[len(python) + 1 :]


def main():
    max_frames = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    expected, times = defaultdict(list), defaultdict(list)
    with open(sys.argv[2], encoding="utf-8") as f:
        for line in f:
            mode, begin, end, *stack = line.rstrip("\n").split("\t")
            times[mode].append((int(begin), int(end)))
            expected[mode] += [cut(s, max_frames) for s in alternatives(stack)]
    n_all, n_good, others = Counter(), Counter(), defaultdict(Counter)
    trace = Trace(sys.argv[1])
    for time, sequence, sample in trace.samples:
        modes = trace.names[trace.thread(sequence, sample)] & expected.keys()
        if not modes or 6 not in sample:
            continue
        stack = trace.python_stack(sequence, sample)
        for mode in modes:
            if not any(begin <= time < end for begin, end in times[mode]):
                continue
            n_all[mode] += 1
            if stack in expected[mode]:
                n_good[mode] += 1
            else:
                others[mode][" > ".join(stack)] += 1
    for mode in sorted(expected):
        seen = "; ".join("%d %s" % (n, what[-600:]) for what, n in others[mode].most_common(3))
        print(mode, n_all[mode], n_good[mode], seen, sep="\t")


if __name__ == "__main__":
    main()
