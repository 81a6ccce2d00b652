#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Has generated code in the samples of a trace the name it had at that time?

    jit.py FILE PID SAID
    jit.py FILE PID

SAID is what prog/jit.c has printed: lines "BOOTTIME NAME". Prints a line
"RIGHT ALL WITH_LINE WRONG": samples of the process that have the name in their
stack, all samples in its generated code, those with a source line, and how many
have another name than that of their time; then the most frequent of those. Without
SAID: how many samples there are in generated code, and the most frequent names.
"""
import bisect
import sys
from collections import Counter

from wire import fields, packets

KIND_JIT = 4


def read_said(path):
    """(times, names), both in order."""
    times, names = [], []
    with open(path) as f:
        for line in f:
            time, name = line.rstrip("\n").split(" ", 1)
            times.append(int(time))
            names.append(name)
    return times, names


def generated_code(path, pid):
    """(time, name, line) of the innermost generated code in each sample of a process."""
    interned, samples = {}, []
    with open(path, "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            for kind, entry in fields(get.get(12, b"")):
                message = list(fields(entry))
                interned[get[10], kind, dict(message)[1]] = message
            if 135 in get:
                samples.append((get[10], get[8], dict(fields(get[135]))))
    for sequence, time, sample in samples:
        if dict(interned[sequence, 48, sample[2]])[2] != pid:
            continue
        frames = [
            dict(interned[sequence, 6, iid])
            for number, iid in interned[sequence, 7, sample[6]]
            if number == 2
        ]
        frames = [frame for frame in frames if frame.get(7) == KIND_JIT]
        if frames:
            name = dict(interned[sequence, 5, frames[-1][2]])[2].decode()
            yield time, name, frames[-1].get(6)


def main():
    samples = generated_code(sys.argv[1], int(sys.argv[2]))
    if len(sys.argv) == 3:
        found = Counter(name for _, name, _ in samples)
        print(sum(found.values()))
        for name, n in found.most_common(20):
            print(f"{n} times {name!r}")
        return
    times, names = read_said(sys.argv[3])
    right = total = lines = 0
    wrong = Counter()
    for time, name, line in samples:
        i = bisect.bisect(times, time) - 1
        if i < 0 or names[i] == "end":
            continue
        # While one replaces the other it is neither: the clocks are read beside it.
        if min(abs(time - t) for t in times[i : i + 2]) < 200_000:
            continue
        total += 1
        if name == names[i]:
            right += 1
            lines += line is not None
        else:
            wrong[name, names[i]] += 1
    print(right, total, lines, sum(wrong.values()))
    for (name, then), n in wrong.most_common(8):
        print(f"{n} times {name!r} in place of {then!r}")


if __name__ == "__main__":
    main()
