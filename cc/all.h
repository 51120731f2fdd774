/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * all.h - the list of congestion controllers, in display order.
 * X(name, PREFIX): mpcc_ops_<name> is the controller, <PREFIX>_PARAMS are its parameters.
 *
 * MPCC_OWNERS lists the controllers that own their window. The kernel's wrapper in crates/kernel runs the
 * others.
 */
#ifndef MPCC_ALL_H
#define MPCC_ALL_H

#include "balia.h"
#include "bbr1.h"
#include "bbr3.h"
#include "copa.h"
#include "coupled.h"
#include "cubic.h"
#include "cwa.h"
#include "dctcp.h"
#include "dts.h"
#include "dwc.h"
#include "ecmtcp.h"
#include "edts.h"
#include "eemptcp.h"
#include "emreno.h"
#include "ewtcp.h"
#include "hybrid.h"
#include "joule.h"
#include "lia.h"
#include "mveno.h"
#include "olia.h"
#include "prague.h"
#include "reno.h"
#include "vivace.h"
#include "westwood.h"
#include "wvegas.h"

#define MPCC_OWNERS(X)    \
	X(bbr1, BBR1)     \
	X(bbr3, BBR3)     \
	X(copa, COPA)     \
	X(vivace, VIVACE) \
	X(prague, PRAGUE) \
	X(joule, JOULE)

#define MPCC_CONTROLLERS(X)   \
	X(reno, RENO)         \
	X(cubic, CUBIC)       \
	X(dctcp, DCTCP)       \
	X(westwood, WESTWOOD) \
	X(ewtcp, EWTCP)       \
	X(coupled, COUPLED)   \
	X(lia, LIA)           \
	X(olia, OLIA)         \
	X(balia, BALIA)       \
	X(dwc, DWC)           \
	X(wvegas, WVEGAS)     \
	X(mveno, MVENO)       \
	X(ecmtcp, ECMTCP)     \
	X(emreno, EMRENO)     \
	X(eemptcp, EEMPTCP)   \
	X(dts, DTS)           \
	X(edts, EDTS)         \
	X(cwa, CWA)           \
	X(hybrid, HYBRID)     \
	MPCC_OWNERS(X)

#endif
