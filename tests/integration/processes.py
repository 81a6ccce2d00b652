#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who is who in a trace, as a viewer makes it out.

    processes.py FILE     a line for each process and thread, tab-separated:
                          process PID PARENT UID NSPIDS NAME
                          thread TID PID NSTIDS NAME

Follows the rules of Perfetto's importer: a task is known from its task_newtask,
or from its first entry in a ProcessTree, to its sched_process_free. Exits with 1
when somebody is there twice, revived, without a name or without a process.
"""
import sys
from collections import Counter

from wire import fields, packed, packets

CLONE_THREAD = 0x10000

# Fields of FtraceEvent.
NEWTASK, RENAME, FREE = 235, 236, 240

# Who may name a thread: the later in this list wins.
BY_NOBODY, BY_FTRACE, BY_TREE = range(3)


class Task:
    def __init__(self, tid):
        self.tid, self.name, self.named_by = tid, "", BY_NOBODY
        self.process, self.nstids = None, []

    def set_name(self, name, named_by):
        if named_by >= self.named_by:
            self.name, self.named_by = name, named_by


class Process:
    def __init__(self, pid):
        self.pid, self.name, self.parent, self.uid, self.nspids = pid, "", None, "-", []


class Model:
    def __init__(self):
        self.tasks, self.processes = {}, {}  # alive, by id
        self.all_tasks, self.all_processes = [], []
        self.known_tids, self.known_pids = set(), set()
        self.complaints = Counter()

    def complain(self, what, *details):
        self.complaints[what] += 1
        if self.complaints[what] <= 3:
            print(what, *details, file=sys.stderr)

    def new_task(self, tid):
        task = self.tasks[tid] = Task(tid)
        self.all_tasks.append(task)
        self.known_tids.add(tid)
        return task

    def new_process(self, pid):
        process = self.processes[pid] = Process(pid)
        self.all_processes.append(process)
        self.known_pids.add(pid)
        return process

    def task(self, tid, why):
        if tid not in self.tasks:
            if tid in self.known_tids:
                self.complain("a dead thread is revived:", tid, why)
            self.new_task(tid)
        return self.tasks[tid]

    def process(self, pid, why):
        if pid not in self.processes:
            if pid in self.known_pids:
                self.complain("a dead process is revived:", pid, why)
            self.new_process(pid)
        return self.processes[pid]

    def tree(self, data):
        for number, value in fields(data):
            entry = list(fields(value))
            get = dict(entry)
            if number == 1:
                self.tree_process(get, [v.decode() for n, v in entry if n == 3],
                                  [v for n, v in entry if n == 6])
            elif number == 2:
                self.tree_thread(get, [v for n, v in entry if n == 4])

    def tree_process(self, get, cmdline, nspids):
        process = self.process(get[1], "entry")
        if not cmdline:
            self.complain("an entry without a command line:", get[1])
            return
        if 2 in get:
            # Whoever is a parent is known from then on: a dead one is revived.
            parent = self.process(get[2], "parent of %d" % get[1])
            if process.parent not in (None, parent):
                self.complain("a process changes its parent:", get[1], process.parent.pid, get[2])
            process.parent = parent
        if get.get(8) and get[1] != 2 and get.get(2) != 2:
            self.complain("a kernel thread is not under 2:", get[1])
        process.name, process.uid, process.nspids = cmdline[0], get.get(5, "-"), nspids

    def tree_thread(self, get, nstids):
        task, process = self.task(get[1], "entry"), self.process(get[3], "thread's entry")
        if task.process not in (None, process):
            self.complain("a thread changes its process:", get[1], task.process.pid, get[3])
        task.process, task.nstids = process, nstids
        task.set_name(get.get(2, b"").decode(), BY_TREE)

    def newtask(self, by, event):
        get = dict(fields(event))
        parent = self.task(by, "forks")
        # A reused number may be given away before the old task is freed.
        task = self.new_task(get[1])
        task.set_name(get[2].decode(), BY_FTRACE)
        if get.get(3, 0) & CLONE_THREAD:
            task.process = parent.process
        else:
            task.process = self.new_process(get[1])
            task.process.name = task.name
            task.process.parent = parent.process

    def rename(self, event):
        get = dict(fields(event))
        task = self.task(get[1], "renamed")
        task.set_name(get[3].decode(), BY_FTRACE)
        if task.process and task.process.pid == task.tid:
            task.process.name = get[3].decode()

    def free(self, event):
        tid = dict(fields(event))[2]
        task = self.tasks.pop(tid, None)
        if not task:
            self.complain("somebody unknown is freed:", tid)
        elif task.process and task.process.pid == tid:
            self.processes.pop(tid, None)

    def switch(self, tid, name):
        if tid != 0:
            self.task(tid, "runs").set_name(name, BY_FTRACE)

    def check(self):
        for task in self.all_tasks:
            if not task.name:
                self.complain("a thread without a name:", task.tid)
            if not task.process:
                self.complain("a thread without a process:", task.tid, task.name)
        for process in self.all_processes:
            if not process.name and process.pid != 0:  # the idle task has none
                self.complain("a process without a name:", process.pid)


def events_of(bundle):
    """(time, method name, arguments) of what concerns tasks."""
    for number, value in bundle:
        if number == 2:
            get = dict(fields(value))
            if NEWTASK in get:
                yield get[1], "newtask", (get[2], get[NEWTASK])
            elif RENAME in get:
                yield get[1], "rename", (get[RENAME],)
            elif FREE in get:
                yield get[1], "free", (get[FREE],)
        elif number == 4:
            compact = list(fields(value))
            get = dict(compact)
            names = [v.decode() for n, v in compact if n == 5]
            time = 0
            for delta, tid, name in zip(packed(get.get(1, b"")), packed(get.get(3, b"")),
                                        packed(get.get(6, b""))):
                time += delta
                yield time, "switch", (tid, names[name])


def escaped(text):
    return text.encode("unicode_escape").decode()


def main():
    events = []
    with open(sys.argv[1], "rb") as f:
        for packet in packets(f.read()):
            get = dict(packet)
            if 2 in get:
                events.append((get[8], "tree", (get[2],)))
            if 1 in get:
                events.extend(events_of(list(fields(get[1]))))
    events.sort(key=lambda event: event[0])
    model = Model()
    for _, method, args in events:
        getattr(model, method)(*args)
    model.check()
    for p in model.all_processes:
        parent = "-" if p.parent is None else p.parent.pid
        print("process", p.pid, parent, p.uid, p.nspids, escaped(p.name), sep="\t")
    for t in model.all_tasks:
        print("thread", t.tid, t.process.pid if t.process else "-", t.nstids, escaped(t.name),
              sep="\t")
    return 1 if model.complaints else 0


sys.exit(main())
