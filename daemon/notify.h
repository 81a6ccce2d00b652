/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - the two things systemd and we tell each other: see sd_notify(3), sd_listen_fds(3). */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/* "READY=1", "WATCHDOG=1", ... Does nothing outside of systemd. */
void notify(const char *state);

/* How often WATCHDOG=1 is expected, in ns; 0: not at all. */
uint64_t notify_watchdog_ns(void);

/* The listening socket that systemd opened for us, or -1. */
int notify_listen_fd(void);

#endif
