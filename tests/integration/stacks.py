#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Are the stacks of a trace what the sampled threads say they are?

    stacks.py FILE EXPECTED

EXPECTED has lines "LABEL<tab>TIME<tab>PATTERN" (prog/stacks.c); samples before the
first TIME of a label are not looked at. Of each label a line is
printed, tab-separated: LABEL, how many samples threads of that name have, how many
of them are as expected, how many are whole (the walk says so), how many of its
patterns have less than a tenth of them, and what the most frequent others look like.

A stack is written from the outermost frame on, without the kernel's frames, as
"a>b*3>c". It is as expected when the walk calls it whole, and what follows the
frames that start a thread matches one of the label's patterns entirely. The pattern
"whole" matches all that are whole, "!" all that are not, "!ERROR" those that end so.
"""
import re
import sys
from collections import Counter, defaultdict
from itertools import groupby

from wire import fields, packets

# What calls main or a thread's first function: libc and ld.so may be stripped.
START = re.compile(
    r"_start(\.part\.0)?|__libc_start_\S+|_dl_\S*|(__)?clone3?|start_thread|__start_context"
    r"|\[(libc|ld-linux)\S*\]"
)
WHOLE = ("", "APPROX")

# Fields of FtraceEvent.
NEWTASK, RENAME = 235, 236


class Trace:
    def __init__(self, path):
        self.names = defaultdict(set)  # tid -> names of the thread
        self.interned = {}  # (sequence, kind, iid) -> message as a list of fields
        self.samples = []  # (sequence, time, sample)
        with open(path, "rb") as f:
            for packet in packets(f.read()):
                self.packet(dict(packet))

    def packet(self, get):
        for number, value in fields(get.get(2, b"")):
            entry = dict(fields(value))
            if number == 2:
                self.names[entry[1]].add(entry.get(2, b"").decode(errors="replace"))
        for number, value in fields(get.get(1, b"")):
            if number == 2:
                self.ftrace_event(dict(fields(value)))
        for kind, entry in fields(get.get(12, b"")):
            message = list(fields(entry))
            self.interned[get[10], kind, dict(message)[1]] = message
        if 135 in get:
            self.samples.append((get[10], get[8], dict(fields(get[135]))))

    def ftrace_event(self, event):
        for kind, name in ((NEWTASK, 2), (RENAME, 3)):
            if kind in event:
                get = dict(fields(event[kind]))
                self.names[get[1]].add(get[name].decode(errors="replace"))

    def string(self, sequence, kind, iid):
        return dict(self.interned[sequence, kind, iid]).get(2, b"").decode()

    def thread(self, sequence, sample):
        context = dict(self.interned[sequence, 48, sample[2]])
        return context[2], context[3]

    def error(self, sequence, sample):
        """Why the walk ended; empty: at the thread's first frame."""
        if 7 in sample:
            return sample[7].decode()
        return self.string(sequence, 5, sample[8]) if 8 in sample else ""

    def frame(self, sequence, iid):
        """(name of the file, name of the function)"""
        frame = dict(self.interned[sequence, 6, iid])
        path = ""
        if 3 in frame:
            for number, value in self.interned[sequence, 19, frame[3]]:
                if number == 7:
                    path = self.string(sequence, 17, value)
        return path, self.string(sequence, 5, frame[2]) if 2 in frame else "?"

    def user_stack(self, sequence, sample):
        """Names of the user's frames, outermost first."""
        stack = []
        if 6 in sample:
            for number, iid in self.interned[sequence, 7, sample[6]]:
                if number == 2:
                    path, name = self.frame(sequence, iid)
                    if path[:1] in ("", "/", "["):  # others are the kernel and its modules
                        stack.append(name)
        return stack


def text(stack):
    runs = [(name, len(list(run))) for name, run in groupby(stack)]
    return ">".join(name if n == 1 else "%s*%d" % (name, n) for name, n in runs)


def from_main(stack):
    """Without what starts a thread."""
    n = 0
    while n < len(stack) and START.fullmatch(stack[n]):
        n += 1
    return stack[n:]


def matches(stack, error, pattern):
    if pattern.startswith("!"):
        return error == pattern[1:] if pattern[1:] else error not in WHOLE
    return error in WHOLE and (
        pattern == "whole" or re.fullmatch(pattern, text(from_main(stack))) is not None
    )


def main():
    patterns, begin = defaultdict(set), {}
    with open(sys.argv[2], encoding="ascii") as f:
        for line in f:
            label, time, pattern = line.rstrip("\n").split("\t")
            patterns[label].add(pattern)
            begin.setdefault(label, int(time))
    n_all, n_good, n_whole = Counter(), Counter(), Counter()
    n_pattern, others = Counter(), defaultdict(Counter)
    trace = Trace(sys.argv[1])
    for sequence, time, sample in trace.samples:
        labels = trace.names[trace.thread(sequence, sample)[1]] & patterns.keys()
        labels = [label for label in labels if time >= begin[label]]
        if not labels:
            continue
        stack, error = trace.user_stack(sequence, sample), trace.error(sequence, sample)
        if error in ("EXITING", "EXECVE"):
            continue
        for label in labels:
            n_all[label] += 1
            n_whole[label] += error in WHOLE
            found = [p for p in patterns[label] if matches(stack, error, p)]
            n_good[label] += bool(found)
            if found:
                n_pattern[label, found[0]] += 1
            else:
                others[label][error + ": " + text(stack)] += 1
    for label in sorted(patterns):
        seen = "; ".join("%d %s" % (n, what[:300]) for what, n in others[label].most_common(3))
        unseen = sum(n_pattern[label, p] * 10 < n_all[label] for p in patterns[label])
        print(label, n_all[label], n_good[label], n_whole[label], unseen, seen, sep="\t")


if __name__ == "__main__":
    main()
