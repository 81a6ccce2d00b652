/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the commands of tracectl, one file each. argv[0] is the command's
 * own name; the result is the exit status.
 */
#ifndef COMMAND_H
#define COMMAND_H

int cmd_check(int argc, char **argv);

#endif
