#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Python program with a known stack, which it says itself.

    pystacks.py MODE

Gives its thread the name MODE (or LABEL), gets into a situation, burns CPU there for BURN_MS
(250) and prints "MODE<TAB>BEGIN<TAB>END<TAB>FRAME<TAB>FRAME...": when (ns of
CLOCK_BOOTTIME), and its frames then, outermost first: "NAME FILE:LINE" as Python
itself has it, and "~" where C code has called the next one. The innermost is on
one of two lines: "NAME FILE:LINE/LINE".
"""
import functools
import os
import re
import sys
import threading
import time

MODE = sys.argv[1]
LABEL = os.environ.get("LABEL", MODE)
BURN = float(os.environ.get("BURN_MS", 250)) / 1000
# Whom C code calls, in each mode.
CALLED_BY_C = set()
# From 3.12 on the interpreter does more without leaving itself.
OLD = sys.version_info < (3, 12)


def name_thread():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as f:
        f.write(LABEL)


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def burn():
    name_thread()
    frames, frame = [], sys._getframe().f_back
    while frame:
        code = frame.f_code
        frames.append(f"{code.co_qualname} {code.co_filename}:{frame.f_lineno}")
        frame = frame.f_back
        if code.co_qualname in CALLED_BY_C or not frame:
            frames.append("~")
    first = sys._getframe().f_lineno + 3
    frames.insert(0, f"burn {__file__}:{first}/{first + 1}")
    end, step, begin = time.thread_time() + BURN, range(20000), now()
    while time.thread_time() < end:
        for _ in step: pass  # noqa: E701: one line, so that it is known
    print(LABEL, begin, now(), *reversed(frames), sep="\t", flush=True)


# ---- situations ----


def plain():
    burn()


def recursion(depth=int(os.environ.get("DEPTH", 40))):
    return burn() if depth == 0 else recursion(depth - 1)


def too_deep():
    sys.setrecursionlimit(2000)
    return recursion(300)


def called_by_sorted():
    CALLED_BY_C.add("called_by_sorted.<locals>.key")
    done = []

    def key(x):
        if not done:
            done.append(burn())
        return x

    sorted(range(2), key=key)


def called_by_re():
    CALLED_BY_C.add("called_by_re.<locals>.replace")

    def replace(match):
        burn()
        return match[0]

    re.sub("a", replace, "banana", count=1)


def called_by_libc():
    import ctypes

    CALLED_BY_C.add("called_by_libc.<locals>.compare")
    done = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def compare(a, b):
        if not done:
            done.append(burn())
        return 0

    ctypes.CDLL(None).qsort(ctypes.create_string_buffer(8), 2, 4, compare)


def generator():
    CALLED_BY_C.add("generator.<locals>.numbers")

    def numbers():
        yield 1
        burn()
        yield 2

    sum(numbers())


def many_in_between():
    CALLED_BY_C.add("many_in_between.<locals>.step.<locals>.<lambda>")

    def step(depth):
        if depth == 0:
            return burn()
        return functools.reduce(lambda a, b: step(depth - 1), (1, 2))

    step(5)


class Café:
    """Names of one, two and four bytes a character."""

    def latin_é(self):
        self.日本語()

    def 日本語(self):
        return [self.𐌀() for _ in (1,)]

    def 𐌀(self):
        (lambda: burn())()


def names():
    Café().latin_é()


def in_thread():
    CALLED_BY_C.add("Thread._bootstrap")
    if OLD:
        CALLED_BY_C.add("plain")
    others = [threading.Thread(target=time.sleep, args=(60,), daemon=True) for _ in range(20)]
    for t in others:
        t.start()
    worker = threading.Thread(target=plain)
    worker.start()
    worker.join()


def in_task():
    import asyncio

    CALLED_BY_C.add("in_task.<locals>.outer")
    if OLD:
        CALLED_BY_C.add("in_task.<locals>.inner")

    async def inner():
        await asyncio.sleep(0)
        burn()

    async def outer():
        await inner()

    asyncio.run(outer())


def in_child():
    pid = os.fork()
    if pid == 0:
        time.sleep(0.3)
        plain()
        os._exit(0)
    os.waitpid(pid, 0)


def waits():
    for _ in range(20):
        time.sleep(0.02)


def allocates():
    for _ in range(150):  # long enough for probes to come
        bytearray(1 << 20)
        time.sleep(0.02)


def after_exec():
    if "again" in sys.argv:
        plain()
    else:
        os.execv(sys.executable, [sys.executable, *sys.argv, "again"])


SITUATIONS = {
    "plain": plain,
    "recursion": recursion,
    "too-deep": too_deep,
    "sorted": called_by_sorted,
    "re": called_by_re,
    "libc": called_by_libc,
    "generator": generator,
    "in-between": many_in_between,
    "names": names,
    "thread": in_thread,
    "task": in_task,
    "child": in_child,
    "exec": after_exec,
    "waits": waits,
    "allocates": allocates,
}

if __name__ == "__main__":
    time.sleep(float(os.environ.get("WAIT", 0.3)))  # until it is known what runs here
    SITUATIONS[MODE]()
