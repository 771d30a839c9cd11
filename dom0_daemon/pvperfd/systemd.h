/* SPDX-License-Identifier: GPL-2.0-only */
/* systemd.h: socket activation and notification, where libsystemd is there. */
#ifndef PVPERFD_SYSTEMD_H
#define PVPERFD_SYSTEMD_H

/* The listening socket that systemd handed over, or -1. */
int systemd_socket(void);
void systemd_notify(const char *state);

#endif
