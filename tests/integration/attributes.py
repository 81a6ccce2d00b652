#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a trace says of itself: attributes.py FILE prints "KEY VALUE" for each attribute.

Said again, the last one counts.
"""
import sys

from wire import fields, packets

ATTRIBUTES = 126  # of a TracePacket


def main():
    found = {}
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            for number, value in packet:
                if number != ATTRIBUTES:
                    continue
                for _, attribute in fields(value):
                    entry = dict(fields(attribute))
                    found[entry[1].decode()] = entry.get(2, entry.get(3, b""))
    for key, value in found.items():
        print(key, value.decode(errors="replace") if isinstance(value, bytes) else value)


main()
