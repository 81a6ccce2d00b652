/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_status.c - triggers and their files, for `tracectl status`. */
#include "trigger/trigger_status.h"

#include <limits.h>
#include <stdio.h>

/* Of one answer; there is one at a time. */
struct answer {
	TriggerStatus triggers[TRIGGERS_MAX], *trigger_ptrs[TRIGGERS_MAX];
	TriggerFilesStatus files[TRIGGER_CONFIGS], *file_ptrs[TRIGGER_CONFIGS];
	char paths[TRIGGER_CONFIGS][PATH_MAX];
};

static struct answer answer;

static void add_trigger(void *ctx, const struct trigger *t, const char *by)
{
	Status *msg = ctx;
	TriggerStatus *status = &answer.triggers[msg->n_triggers];

	trigger_status__init(status);
	status->on = (char *)trigger_spec(t)->text;
	status->by = (char *)by;
	status->has_fired = 1;
	status->fired = trigger_count(t);
	answer.trigger_ptrs[msg->n_triggers++] = status;
}

static void add_files(void *ctx, const struct trigger_files_status *files)
{
	Status *msg = ctx;
	TriggerFilesStatus *status = &answer.files[msg->n_trigger_files];
	char *path = answer.paths[msg->n_trigger_files];

	trigger_files_status__init(status);
	if (files->last[0])
		snprintf(path, PATH_MAX, "%s/%s", files->dir, files->last);
	else
		path[0] = '\0';
	status->name = (char *)files->config->name;
	status->has_files = status->has_too_soon = status->has_failed = 1;
	status->files = files->n_files;
	status->too_soon = files->n_too_soon;
	status->failed = files->n_failed;
	status->last = path;
	status->why = (char *)files->why;
	answer.file_ptrs[msg->n_trigger_files++] = status;
}

void trigger_status_fill(Status *msg, const struct triggers *triggers,
			 const struct trigger_files *files)
{
	msg->triggers = answer.trigger_ptrs;
	msg->trigger_files = answer.file_ptrs;
	if (triggers)
		triggers_each(triggers, add_trigger, msg);
	if (files)
		trigger_files_each(files, add_files, msg);
}
