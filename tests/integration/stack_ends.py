#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How the stacks of a trace end, by process.

    stack_ends.py FILE [PROCESS]      a regular expression

Prints for each process "NAME ALL WITH_STACK WHOLE REASON=N...", most samples
first, and the sum of all as "*".
"""
import collections
import re
import sys

from wire import fields, packets

NO_STACK = {"EXITING", "EXECVE", "KTHREAD", "COMPAT32", "ASLEEP"}
WHOLE = {"", "APPROX"}


def main():
    names, contexts, samples = {}, {}, []
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            for number, value in fields(get.get(2, b"")):
                entry = dict(fields(value))
                if number == 2 and entry.get(1) == entry.get(3):
                    names[entry[1]] = entry.get(2, b"").decode(errors="replace")
            for kind, entry in fields(get.get(12, b"")):
                if kind == 48:
                    message = dict(fields(entry))
                    contexts[get[10], message[1]] = message.get(2, 0)
            if 135 in get:
                sample = dict(fields(get[135]))
                samples.append((contexts[get[10], sample[2]], sample.get(7, b"").decode()))
    by_name = collections.defaultdict(collections.Counter)
    for pid, end in samples:
        name = names.get(pid, "?")
        if len(sys.argv) < 3 or re.search(sys.argv[2], name):
            by_name[name][end] += 1
            by_name["*"][end] += 1
    for name, ends in sorted(by_name.items(), key=lambda item: -item[1].total()):
        n = ends.total()
        with_stack = sum(k for end, k in ends.items() if end not in NO_STACK)
        whole = sum(ends[end] for end in WHOLE)
        reasons = " ".join(f"{end}={k}" for end, k in ends.most_common() if end)
        print(name.replace(" ", "_"), n, with_stack, whole, reasons)


if __name__ == "__main__":
    main()
