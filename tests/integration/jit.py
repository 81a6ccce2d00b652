#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Has generated code in the samples of a trace the name it had at that time?

    jit.py FILE PID SAID

SAID is what prog/jit.c has printed: lines "BOOTTIME NAME". Prints a line
"RIGHT ALL WITH_LINE WRONG": samples of the process that have the name in their
stack, all samples in its generated code, those with a source line, and how many
have another name than that of their time; then the most frequent of those.
"""
import bisect
import sys
from collections import Counter

from wire import fields, packets

KIND_JIT = 4


def main():
    path, wanted, said = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    times, names = [], []
    with open(said) as f:
        for line in f:
            time, name = line.rstrip("\n").split(" ", 1)
            times.append(int(time))
            names.append(name)
    interned, samples = {}, []
    with open(path, "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            for kind, entry in fields(get.get(12, b"")):
                message = list(fields(entry))
                interned[get[10], kind, dict(message)[1]] = message
            if 135 in get:
                samples.append((get[10], get[8], dict(fields(get[135]))))

    def generated(sequence, callstack):
        """(name, line) of the innermost generated code in the stack."""
        found = None
        for number, iid in interned[sequence, 7, callstack]:
            if number != 2:
                continue
            frame = dict(interned[sequence, 6, iid])
            if frame.get(7) == KIND_JIT:
                found = dict(interned[sequence, 5, frame[2]])[2].decode(), frame.get(6)
        return found

    right = total = lines = 0
    wrong = Counter()
    for sequence, time, sample in samples:
        if dict(interned[sequence, 48, sample[2]])[2] != wanted:
            continue
        i = bisect.bisect(times, time) - 1
        if i < 0 or names[i] == "end":
            continue
        # While one replaces the other it is neither: the clocks are read beside it.
        if min(abs(time - t) for t in times[max(i, 0) : i + 2]) < 200_000:
            continue
        found = generated(sequence, sample[6])
        if not found:
            continue
        total += 1
        if found[0] == names[i]:
            right += 1
            lines += found[1] is not None
        else:
            wrong[found[0], names[i]] += 1
    print(right, total, lines, sum(wrong.values()))
    for (found, name), n in wrong.most_common(8):
        print(f"{n} times {found!r} in place of {name!r}")


if __name__ == "__main__":
    main()
