/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the commands of tracectl, one file each. argv[0] is the command's
 * own name; the result is the exit status.
 */
#ifndef COMMAND_H
#define COMMAND_H

int cmd_check(int argc, char **argv);
int cmd_mark(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_watch(int argc, char **argv);

/* Exit statuses that all commands share; each documents what else it has. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
/* Of those that record. */
enum { EXIT_LOSS = 3, EXIT_DAEMON_GONE = 4 };

#endif
