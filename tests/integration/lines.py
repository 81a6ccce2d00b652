#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a trace says about source lines and inlined functions.

    lines.py FILE MODULE      a regular expression for the module's path

Prints a line for each address of ModuleSymbols: "ADDRESS FUNCTION FILE:LINE;
FUNCTION FILE:LINE" from the innermost function outwards, sorted, with the base
names of files. Fails when an address is no frame of a sample in that module, by
path and build id, when there is one twice, or when a sample comes later.
"""
import re
import sys

from wire import fields, packets


def text(message, number):
    return dict(message).get(number, b"").decode()


def main():
    wanted = re.compile(sys.argv[2])
    interned = {}  # (sequence, kind, iid) -> message as a list of fields
    frames = set()  # (path, build id, address)
    lines = {}
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            for kind, entry in fields(get.get(12, b"")):
                message = list(fields(entry))
                interned[get[10], kind, dict(message)[1]] = message
            stack = dict(fields(get.get(135, b""))).get(6)
            stack = stack or dict(fields(get.get(11, b""))).get(56)  # of a TrackEvent
            if stack:
                if lines:
                    sys.exit("a sample comes after lines")
                for number, iid in interned[get[10], 7, stack]:
                    if number != 2:
                        continue
                    frame = dict(interned[get[10], 6, iid])
                    mapping = dict(interned[get[10], 19, frame[3]])
                    path = dict(interned[get[10], 17, mapping[7]])[2].decode()
                    if not path.startswith("/"):
                        path = "/" + path
                    build_id = b""
                    if mapping.get(2):
                        build_id = dict(interned[get[10], 16, mapping[2]])[2]
                    frames.add((path, build_id, frame.get(4, 0)))
            if 61 not in get:
                continue
            module = list(fields(get[61]))
            path, build_id = text(module, 1), dict(module).get(2, b"")
            for number, value in module:
                if number != 3:
                    continue
                entry = list(fields(value))
                address = dict(entry).get(1, 0)
                key = (path, build_id, address)
                if key not in frames:
                    sys.exit(f"{path}: no sample is at {address:#x}")
                if key in lines:
                    sys.exit(f"{path}: {address:#x} comes twice")
                lines[key] = ";".join(
                    "%s %s:%d"
                    % (text(line, 1), text(line, 2).split("/")[-1], dict(line).get(3, 0))
                    for line in (list(fields(v)) for n, v in entry if n == 2)
                )
    for path, build_id, address in sorted(lines):
        if wanted.search(path):
            print(f"{address:#x} {lines[path, build_id, address]}")


if __name__ == "__main__":
    main()
