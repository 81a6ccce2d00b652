#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many stacks are whole, in a trace of ours or in what perf script prints.

    whole.py trace FILE [OPTIONS]
    whole.py perf [OPTIONS] <OUTPUT     perf script --no-inline --show-task-events -F comm,pid,tid,time,ip,sym

    --under PID,...         only processes that these are, or have started
    --first S, --after S    only samples of the first S seconds, or after them
    --short MS              only of processes whose samples lie within so much time
    --comm REGEX            only of threads that had such a name
    -v                      a line for each name and reason

Prints "SAMPLES USER WHOLE FRAMES ALL": samples of processes (not of kernel threads),
those that have a user stack, whose stacks are whole, frames in the mean, and how many
samples of processes there are without these options. Of ours the walk says what is whole; of perf's, what ends where threads begin.
"""
import argparse
import os
import re
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../integration"))
from stacks import Trace, WHOLE  # noqa: E402
from wire import fields  # noqa: E402

NO_STACK = {"EXITING", "EXECVE", "KTHREAD", "COMPAT32", "ASLEEP"}
# One of the outermost frames: libc's last one has no name everywhere.
BEGIN = re.compile(r"_start|__libc_start_main|__libc_start_call_main|(__GI_)?(__)?clone3?|start_thread|_dl_start_user")


parents = {}  # pid -> the one that has started it


class Tree(Trace):
    """A trace with the parents of processes."""

    def packet(self, get):
        super().packet(get)
        for number, value in fields(get.get(2, b"")):
            if number == 1:
                process = dict(fields(value))
                parents[process[1]] = process.get(2, 0)


def is_under(pid, roots):
    seen = set()
    while pid and pid not in roots and pid not in seen:
        seen.add(pid)
        pid = parents.get(pid)
    return pid in roots


class Sample:
    def __init__(self, time, pid, name, frames, has_user, whole, why):
        self.time, self.pid, self.name, self.frames = time, pid, name, frames
        self.has_user, self.whole, self.why = has_user, whole, why


def of_trace(path):
    trace = Tree(path)
    for sequence, time, sample in trace.samples:
        why = trace.error(sequence, sample)
        if why == "KTHREAD":
            continue
        pid, tid = trace.thread(sequence, sample)
        n = sum(1 for number, _ in trace.interned[sequence, 7, sample[6]] if number == 2) if 6 in sample else 0
        name = " ".join(sorted(trace.names[tid]))
        yield Sample(time / 1e9, pid, name, n, why not in NO_STACK, why in WHOLE, why)


def of_perf(lines):
    head, frames = None, []

    def sample():
        comm, pid, time = head
        user = [name for ip, name in frames if not ip.startswith("ffffffff")]
        whole = any(BEGIN.fullmatch(name) for name in user[-3:])
        return Sample(time, pid, comm, len(frames), bool(user), whole, "" if whole else "?")

    for line in lines:
        fork = re.search(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)", line)
        if fork:
            if fork[1] != fork[2]:  # no thread
                parents[int(fork[1])] = int(fork[2])
        elif re.search(r"PERF_RECORD_(COMM|EXIT|NAMESPACES)", line):
            pass
        elif not line.strip():
            if head and head[1] != 0:
                yield sample()
            head, frames = None, []
        elif head is None:
            found = re.match(r"\s*(.*?)\s+(\d+)/\d+\s+([\d.]+):", line)
            head = (found[1], int(found[2]), float(found[3])) if found else None
        else:
            ip, _, name = line.strip().partition(" ")
            frames.append((ip, re.sub(r"\+0x[0-9a-f]+$", "", name)))


def selected(samples, args):
    begin = min((s.time for s in samples), default=0)
    spans = defaultdict(lambda: [float("inf"), 0.0])
    for s in samples:
        span = spans[s.pid]
        span[0], span[1] = min(span[0], s.time), max(span[1], s.time)
    for s in samples:
        if args.first and s.time - begin > args.first or args.after and s.time - begin <= args.after:
            continue
        if args.short and spans[s.pid][1] - spans[s.pid][0] > args.short / 1000:
            continue
        if args.under and not is_under(s.pid, args.under):
            continue
        if args.comm and not any(re.fullmatch(args.comm, name) for name in s.name.split()):
            continue
        yield s


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["trace", "perf"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--first", type=float)
    parser.add_argument("--after", type=float)
    parser.add_argument("--short", type=float)
    parser.add_argument("--comm")
    parser.add_argument("--under", type=lambda s: {int(pid) for pid in s.split(",")})
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    if args.kind == "trace":
        samples = list(of_trace(args.file))
    else:
        samples = list(of_perf(sys.stdin))
    chosen = list(selected(samples, args))
    user = [s for s in chosen if s.has_user]
    print(len(chosen), len(user), sum(s.whole for s in user),
          "%.1f" % (sum(s.frames for s in user) / len(user) if user else 0), len(samples))
    if args.v:
        names = defaultdict(Counter)
        for s in chosen:
            names[s.name][s.why] += 1
        for name, why in sorted(names.items(), key=lambda item: -item[1].total()):
            print(" ", name, why.total(), " ".join("%s=%d" % item for item in why.most_common() if item[0]))


if __name__ == "__main__":
    main()
