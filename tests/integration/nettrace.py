# SPDX-License-Identifier: Apache-2.0
"""What the source "net" has written into a trace, for the checkers net_*.py; read by
tests/tools/slicedump ($SLICEDUMP)."""
import gc
import os
import pickle
import subprocess
import sys

gc.disable()  # all that is made here stays


class Slice:
    """Of a track or a thread; an instant has end == begin. What does not end has None."""

    __slots__ = ("begin", "end", "category", "name", "flows", "stack", "args", "track", "inside")

    def __init__(self, time, category, name, flows, stack, args, track):
        self.begin, self.end = time, None
        self.category, self.name = category, name
        self.flows = {f.rstrip("!") for f in flows.split(",")} if flows != "-" else set()
        self.stack = stack
        self.args = dict(a.split("=", 1) for a in args)
        self.track = track
        self.inside = []

    def get(self, name, default=""):
        return self.args.get(name, default)

    def number(self, name):
        return int(self.args.get(name, 0))

    def true(self, name):
        return self.args.get(name) == "true"

    def phases(self):
        return [s.name for s in self.inside]

    @property
    def pid(self):
        return self.track.pid

    @property
    def tid(self):
        return self.track.tid

    @property
    def origin(self):
        return self.track.parent.name if self.track.parent else ""

    @property
    def path(self):
        """Of a request: its URL without scheme and host."""
        url = self.get("url")
        if "://" in url:
            url = url.split("://", 1)[1]
            return "/" + url.split("/", 1)[1] if "/" in url else "/"
        return url

    def title(self):
        """Its name; where names are too many, as it would have been."""
        if self.name.startswith(self.get("method") + " …"):
            return f"{self.get('method')} {self.path}" + self.name.split("…", 1)[1]
        return self.name

    def whole(self):
        """A request with its answer, of which nothing is missing."""
        return self.end is not None and self.number("status") > 0 and not self.broken()

    def broken(self):
        return [a for a in ("error", "incomplete", "lost") if self.args.get(a, "false") not in ("false", "")]

    def __str__(self):
        ends = f"{(self.end - self.begin) / 1e6:.3f} ms" if self.end is not None else "no end"
        args = " ".join(f"{k}={v}" for k, v in self.args.items())
        return f"{self.pid} {self.origin} [{self.name}] {ends} {args} {self.phases()}"


class Track:
    def __init__(self):
        self.parent, self.own_pid, self.tid, self.name = None, -1, -1, ""
        self.open = []

    @property
    def pid(self):
        track = self
        while track and track.own_pid < 0:
            track = track.parent
        return track.own_pid if track else -1

    def names(self):
        """From the outermost to this one."""
        return (self.parent.names() if self.parent else []) + [self.name]


class Trace:
    def __init__(self, path):
        self.tracks, self.slices, self.instants, self.values = {}, [], [], []
        text = subprocess.run([os.environ["SLICEDUMP"], path], check=True, capture_output=True).stdout
        events = []
        for line in text.decode(errors="replace").split("\n"):
            kind, _, rest = line.partition("\t")
            if kind == "event":
                fields = rest.split("\t")
                events.append((int(fields[0]), fields))
            elif kind == "track":
                self.describe(*rest.split("\t"))
            elif kind == "value":
                time, track, value = rest.split("\t")
                self.values.append((int(time), self.track(track), float(value)))
        events.sort(key=lambda e: e[0])  # of one time: as in the file
        for time, fields in events:
            self.event(time, *fields[1:7], fields[7:])

    def track(self, uuid):
        if uuid not in self.tracks:
            self.tracks[uuid] = Track()
        return self.tracks[uuid]

    def describe(self, uuid, parent, pid, tid, name):
        track = self.track(uuid)
        track.parent = self.track(parent) if parent != "0" else None
        track.own_pid, track.tid, track.name = int(pid), int(tid), name

    def event(self, time, kind, uuid, category, name, flows, stack, args):
        track = self.track(uuid)
        if kind == "end":
            if track.open:
                track.open.pop().end = time
            return
        event = Slice(time, category, name, flows, stack, args, track)
        if kind == "instant":
            event.end = time
            self.instants.append(event)
            return
        if track.open:
            track.open[-1].inside.append(event)
        track.open.append(event)
        self.slices.append(event)

    def of(self, *categories, **args):
        """Slices of these categories whose arguments are these."""
        return [
            s
            for s in self.slices
            if s.category in categories and all(s.get(k) == v for k, v in args.items())
        ]

    def requests(self, **args):
        return self.of("http", **args)

    def connections(self, **args):
        return self.of("tcp", **args)

    def lookups(self, **args):
        return self.of("dns", **args)

    def counted(self, pid, name):
        """The last value of a process's counter."""
        values = [v for v in self.values if v[1].pid == pid and v[1].name == name]
        return max(values, key=lambda v: v[0])[2] if values else None


def load(path):
    """A trace is asked many questions, each by a process of its own: it is read once."""
    cache = f"{path}.{os.stat(path).st_mtime_ns}"
    try:
        with open(cache, "rb") as f:
            return pickle.load(f)
    except OSError:
        trace = Trace(path)
    with open(cache + ".new", "wb") as f:
        pickle.dump(trace, f, pickle.HIGHEST_PROTOCOL)
    os.rename(cache + ".new", cache)
    return trace


class Verdict:
    """Collects what is wrong; at most some of it is shown."""

    def __init__(self):
        self.n = 0

    def wrong(self, *what):
        self.n += 1
        if self.n <= 12:
            print("wrong:", *what)

    def equal(self, what, seen, want):
        if seen != want:
            self.wrong(f"{what}: seen {seen!r}, want {want!r}")

    def check(self, good, *what):
        if not good:
            self.wrong(*what)

    def share(self, what, n, of, least=0.999):
        """So many of them at least; and there are some."""
        print(f"{what}: {n} of {of}")
        if not of or n < least * of or n > of:
            self.wrong(f"{what}: {n} of {of}")

    def end(self):
        if self.n > 12:
            print(f"... {self.n} in all")
        sys.exit(1 if self.n else 0)
