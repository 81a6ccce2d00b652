#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Are the JavaScript stacks of a trace those of v8stacks.js?

    v8stacks_check.py FILE PID EXPECTED

EXPECTED is what the program has printed: NAME, file and line of its functions. Prints for
each mode a line, tab-separated: MODE, samples in which one of its functions has a name,
those with the whole chain drive, top, mid, low in this order (and C++ functions
between the latter two where there must be some), those that cannot be (functions
of another mode, in the wrong order, with another file or line), and examples. Then "all",
the samples with JavaScript in them, those in which each frame of it has a name, and
what has none.
"""
import sys
from collections import Counter, defaultdict

from pystacks_check import INTERPRETED, Trace

LEVELS = ["drive", "top", "mid", "low"]
# A stripped library has no names for its builtin functions.
NATIVE_BETWEEN = {
    "reviver": ("v8::internal::",),
    "sorted": ("Builtins_ArrayPrototypeSort", "[libnode"),
}


def frames(trace, sequence, sample):
    """(function, file, line, is interpreted), outermost first."""
    for number, iid in trace.interned[sequence, 7, sample[6]]:
        if number != 2:
            continue
        frame = dict(trace.interned[sequence, 6, iid])
        file = trace.string(sequence, 18, frame[5]) if 5 in frame else ""
        name = trace.string(sequence, 5, frame[2])
        yield name, file, frame.get(6, 0), frame.get(7) == INTERPRETED


def split(name):
    """Level and mode of a function of ours."""
    level, _, mode = name.removeprefix("exports.").partition("_")
    return level, mode


def judge(stack, expected):
    """(mode, "whole" | "part" | "wrong"), or None: nothing of ours is in it."""
    ours = [frame for frame in stack if frame[3] and frame[0] in expected]
    if not ours:
        return None
    mode = split(ours[-1][0])[1]
    levels = [split(frame[0])[0] for frame in ours]
    if any(split(f[0])[1] != mode or (f[1], f[2]) != expected[f[0]] for f in ours):
        return mode, "wrong"
    if sorted(levels, key=LEVELS.index) != levels or len(set(levels)) < len(levels):
        return mode, "wrong"
    if levels != LEVELS:
        return mode, "part"
    names = [frame[0] for frame in stack]
    between = names[names.index(ours[2][0]) : names.index(ours[3][0])]
    wanted = NATIVE_BETWEEN.get(mode)
    if wanted and not any(name.startswith(wanted) for name in between):
        return mode, "part"
    return mode, "whole"


def nameless(stack):
    """JavaScript without a name."""
    return [f[0] for f in stack if f[0] == "[anon:exec]" or "InterpreterEntryTramp" in f[0]]


def main():
    expected = {}
    with open(sys.argv[3], encoding="utf-8") as f:
        for line in f:
            name, file, number = line.rstrip("\n").split("\t")
            expected[name] = file, int(number)
    trace, pid = Trace(sys.argv[1]), int(sys.argv[2])
    counts, others = defaultdict(Counter), defaultdict(Counter)
    n_all, n_named, bad = 0, 0, Counter()
    for _, sequence, sample in trace.samples:
        if 6 not in sample or dict(trace.interned[sequence, 48, sample[2]])[2] != pid:
            continue
        stack = list(frames(trace, sequence, sample))
        if any(f[3] or f[0].startswith("Builtins_JSEntry") for f in stack):
            n_all += 1
            n_named += not nameless(stack)
            bad.update(set(nameless(stack)))
        judged = judge(stack, expected)
        if not judged:
            continue
        counts[judged[0]][judged[1]] += 1
        if judged[1] != "whole":
            text = " > ".join(f"{f[0]}:{f[2]}" if f[3] else f[0] for f in stack[-12:])
            others[judged[0]][judged[1] + " " + text] += 1
    for mode in dict.fromkeys(split(name)[1] for name in expected):
        c = counts[mode]
        seen = "; ".join("%d %s" % (n, what) for what, n in others[mode].most_common(3))
        print(mode, sum(c.values()), c["whole"], c["wrong"], seen, sep="\t")
    print("all", n_all, n_named, 0, dict(bad.most_common(3)), sep="\t")


if __name__ == "__main__":
    main()
