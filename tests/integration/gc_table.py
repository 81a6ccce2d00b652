#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Garbage collections as a table: tracectl watch --probe-set python-gc,jvm-gc | gc_table.py
import json
import sys

form = "{:15} {:>7} {:>15} {:>9} {:>11} {:>10}  {}"
print(form.format("process", "pid", "at", "took, ms", "before, MB", "after, MB", "what"))
pools = {}  # of the collection that goes on, by process: bytes before and after
for line in sys.stdin:
    event = json.loads(line)
    args, pid = event.get("args", {}), event.get("pid")
    if event["type"] == "lost":
        print("missing:", event["lost"], event["reason"])
    elif event["name"] == "jvm-pool":
        before, after = pools.get(pid, (0, 0))
        pools[pid] = before + args["before"], after + args["after"]
    elif event["name"] == "python-gc" or (event["name"] == "jvm-gc" and pid in pools):
        before, after = pools.pop(pid, (args.get("before", 0), args.get("after", 0)))
        what = "full" if args.get("full") else f"generation {args['generation']}" if "generation" in args else "young"
        print(form.format(event["process"], pid, event["wall"][11:26], f"{event['duration'] / 1e6:.2f}",
                          f"{before / 1e6:.1f}", f"{after / 1e6:.1f}", what), flush=True)
