/* SPDX-License-Identifier: Apache-2.0 */
/* status_triggers.c - triggers in `tracectl status`. */
#include "status_triggers.h"

#include <inttypes.h>
#include <stdio.h>

#include "clean.h"
#include "json.h"

static void print_files(const TriggerFilesStatus *f)
{
	printf("  [trigger %s] %" PRIu64 " files written", clean(f->name), f->files);
	if (f->last && f->last[0])
		printf(", last %s", clean(f->last));
	if (f->too_soon)
		printf("; %" PRIu64 " not, since min_interval had not passed", f->too_soon);
	if (f->failed)
		printf("; %" PRIu64 " failed", f->failed);
	putchar('\n');
	if (f->why && f->why[0])
		printf("      %s\n", clean(f->why));
}

void status_print_triggers(const Status *st)
{
	if (!st->n_triggers && !st->n_trigger_files)
		return;
	puts("triggers:");
	for (size_t i = 0; i < st->n_triggers; i++) {
		const TriggerStatus *t = st->triggers[i];

		printf("  %s, for %s: fired %" PRIu64 " times\n", clean(t->on), clean(t->by),
		       t->fired);
	}
	for (size_t i = 0; i < st->n_trigger_files; i++)
		print_files(st->trigger_files[i]);
}

void status_json_triggers(struct json *j, const Status *st)
{
	json_array(j, "triggers");
	for (size_t i = 0; i < st->n_triggers; i++) {
		json_object(j, NULL);
		json_string(j, "on", st->triggers[i]->on);
		json_string(j, "by", st->triggers[i]->by);
		json_u64(j, "fired", st->triggers[i]->fired);
		json_end(j);
	}
	json_end(j);
	json_array(j, "trigger_files");
	for (size_t i = 0; i < st->n_trigger_files; i++) {
		const TriggerFilesStatus *f = st->trigger_files[i];

		json_object(j, NULL);
		json_string(j, "name", f->name);
		json_u64(j, "files", f->files);
		json_u64(j, "too_soon", f->too_soon);
		json_u64(j, "failed", f->failed);
		json_string(j, "last", f->last);
		json_string(j, "why", f->why);
		json_end(j);
	}
	json_end(j);
}
