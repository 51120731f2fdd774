/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* native.c - the controllers of cc/ for the host. */
#include "all.h"
#include "glue.h"

JP_EXPORT(MPCC_CONTROLLERS)
