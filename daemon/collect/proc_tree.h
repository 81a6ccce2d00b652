/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_tree.h - ProcessTree packets. Gathers entries of one timestamp, and puts
 * a packet when the next entry does not belong to it or does not fit.
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include <stdint.h>

struct process;
struct thread;
struct proc_tree;
struct trace_writer;

int proc_tree_new(struct trace_writer *w, struct proc_tree **ret);
void proc_tree_free(struct proc_tree *tree); /* takes NULL */

/* `n_events`: how many events of the ledger this entry stands for. */
int proc_tree_add_process(struct proc_tree *tree, uint64_t time_ns, const struct process *p,
			  unsigned n_events);
int proc_tree_add_thread(struct proc_tree *tree, uint64_t time_ns, const struct thread *t);
/* Puts what is gathered. */
int proc_tree_put(struct proc_tree *tree);

/* A thread's name as clean UTF-8, never empty: readers take an empty name for none. */
#define CLEAN_COMM (3 * 16)
void proc_clean_comm(char dst[CLEAN_COMM], const char comm[16]);

#endif
