# SPDX-License-Identifier: Apache-2.0
"""Lines of `tracectl watch` as tracectl(1) describes them.

    watch.py FILE                   fails if a line is not as it should be
    watch.py FILE FIELD=VALUE...    and prints how many lines have these fields

FIELD may be args.NAME. With --sum NAME the values of that field are added up instead.
"""

import json
import re
import sys

COMMON = {"type": str, "time": int, "wall": str}
EVENT = {"source": str, "name": str, "category": str, "pid": int, "tid": int,
         "process": str, "thread": str, "track": str, "args": dict}
OWN = {
    "slice": {"duration": int} | EVENT,
    "instant": EVENT,
    "counter": {"value": (int, float, type(None))} | EVENT,
    "lost": {"lost": int, "source": str, "reason": str},
}
NEEDED = {"slice": ["duration", "source", "name"], "instant": ["source", "name"],
          "counter": ["source", "name", "value"], "lost": ["lost", "reason"]}
WALL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


def once(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a member twice: {names}"
    return dict(pairs)


def check(line):
    event = json.loads(line, object_pairs_hook=once)
    fields = COMMON | OWN[event["type"]]
    for name, value in event.items():
        assert name in fields, f"what is {name}?"
        assert isinstance(value, fields[name]) and not isinstance(value, bool), f"{name}: {value}"
    for name in [*COMMON, *NEEDED[event["type"]]]:
        assert name in event, f"no {name}"
    assert WALL.fullmatch(event["wall"]), event["wall"]
    assert all(not isinstance(v, (dict, list)) for v in event.get("args", {}).values())
    return event


def field(event, name):
    if name.startswith("args."):
        return event.get("args", {}).get(name[5:])
    return event.get(name)


def main(path, *wanted):
    total = None
    if wanted and wanted[0] == "--sum":
        total, wanted = wanted[1], wanted[2:]
    pairs = [w.split("=", 1) for w in wanted]
    n = 0
    with open(path, "rb") as f:
        for line in f:
            assert line.endswith(b"\n"), "the last line is not whole"
            event = check(line.decode("utf-8"))
            if all(str(field(event, name)) == value for name, value in pairs):
                n += field(event, total) or 0 if total else 1
    print(n)


main(*sys.argv[1:])
