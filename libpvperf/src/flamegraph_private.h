/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flamegraph_private.h: the fixed parts of the pictures. */
#ifndef PVP_FLAMEGRAPH_PRIVATE_H
#define PVP_FLAMEGRAPH_PRIVATE_H

#include <pvperf/flamegraph.h>

extern const char pvp_flame_style[];
extern const char pvp_flame_page_style[];
extern const char pvp_flame_script[];

#endif
