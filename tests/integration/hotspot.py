#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Are the stacks of a Java program (hotspot_class.py) what they must be?

    hotspot.py FILE PID

Prints a line "ALL WHOLE CHAIN RIGHT FULL", numbers of samples: those of the process
that have a user stack; those of them that are whole; those in the program's own
methods, and of them those whose methods follow each other as they call each other;
and those that also show every method by its name, down to the innermost one. A method
that is interpreted may be without its name, in a first sample. Then the most frequent
stacks that are not right, and how others end.
"""
import sys
from collections import Counter

from hotspot_class import DEPTH
from stacks import Trace, text

NO_STACK = {"EXITING", "EXECVE", "KTHREAD", "COMPAT32", "ASLEEP"}
WHOLE = {"", "APPROX"}
CHAIN = ["Chain." + name for name in ["main", "outer", "middle"] + ["recurse"] * DEPTH + ["inner"]]
INTERPRETED = "[interpreted]"


def is_right(methods):
    return len(methods) <= len(CHAIN) and all(
        name in (must, INTERPRETED) for name, must in zip(methods, CHAIN)
    )


def main():
    n_all = n_whole = n_chain = n_right = n_full = 0
    others, ends = Counter(), Counter()
    trace = Trace(sys.argv[1])
    for sequence, _, sample in trace.samples:
        if trace.thread(sequence, sample)[0] != int(sys.argv[2]):
            continue
        error = trace.error(sequence, sample)
        if error in NO_STACK:
            continue
        n_all += 1
        n_whole += error in WHOLE
        stack = trace.user_stack(sequence, sample)
        if error not in WHOLE:
            ends[error + ": " + text(stack)] += 1
        methods = [name for name in stack if name in CHAIN or name == INTERPRETED]
        if error not in WHOLE or not any(name in CHAIN for name in methods):
            continue
        n_chain += 1
        if is_right(methods):
            n_right += 1
            n_full += methods == CHAIN
        else:
            others[text(stack)] += 1
    print(n_all, n_whole, n_chain, n_right, n_full)
    for what, n in others.most_common(5) + ends.most_common(5):
        print(n, what)


if __name__ == "__main__":
    main()
