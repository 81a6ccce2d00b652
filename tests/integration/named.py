#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many samples of some processes have a function's name in their stack?

    named.py FILE PROCESS FUNCTION      regular expressions

Prints "NAMED ALL PROCESSES": samples with the name, all samples, and how many
different processes have a sample with the name.
"""
import re
import sys

from wire import fields, packets


def main():
    process, function = re.compile(sys.argv[2]), re.compile(sys.argv[3])
    names = {}  # pid -> names of its main thread, over time
    interned = {}  # (sequence, kind, iid) -> message as a list of fields
    samples = []
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            for number, value in fields(get.get(2, b"")):
                entry = dict(fields(value))
                if number == 2 and entry.get(1) == entry.get(3):
                    names.setdefault(entry[1], set()).add(entry.get(2, b"").decode())
            for kind, entry in fields(get.get(12, b"")):
                message = list(fields(entry))
                interned[get[10], kind, dict(message)[1]] = message
            if 135 in get:
                samples.append((get[10], dict(fields(get[135]))))

    def function_names(sequence, callstack):
        for number, frame in interned[sequence, 7, callstack]:
            if number == 2:
                name = dict(interned[sequence, 6, frame]).get(2)
                yield dict(interned[sequence, 5, name])[2].decode()

    named = total = 0
    processes = set()
    for sequence, sample in samples:
        pid = dict(interned[sequence, 48, sample[2]])[2]
        if not any(process.search(name) for name in names.get(pid, ())):
            continue
        total += 1
        if any(function.search(name) for name in function_names(sequence, sample[6])):
            named += 1
            processes.add(pid)
    print(named, total, len(processes))


if __name__ == "__main__":
    main()
