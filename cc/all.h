/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * all.h - every congestion controller, in the order in which they are shown.
 * X(name, PREFIX): mpcc_ops_<name> is the controller, <PREFIX>_PARAMS its parameters.
 */
#ifndef MPCC_ALL_H
#define MPCC_ALL_H

#include "reno.h"
#include "lia.h"

#define MPCC_CONTROLLERS(X) \
	X(reno, RENO)       \
	X(lia, LIA)

#endif
