/* SPDX-License-Identifier: GPL-2.0-only */
/* internal.h: what the files of the shim share. */
#ifndef PVPERF_SHIM_INTERNAL_H
#define PVPERF_SHIM_INTERNAL_H

void shim_params(const char *params);
void shim_initcalls(void);
void shim_core_defaults(void);
void shim_mem_abandon(void);
void shim_irq_enter(unsigned int cpu, unsigned int *save);
void shim_irq_exit(unsigned int save);

#endif /* PVPERF_SHIM_INTERNAL_H */
