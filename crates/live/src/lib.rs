//! The daemon that manages the MPTCP paths of real interfaces.
//!
//! ```text
//!   machine (netlink, /sys) ──► snapshot ──► decide ──► endpoints, limits ──► act ──► kernel
//!                                  ▲            │ reasons                      │ journal first
//!                       ledger, joules          ▼                              ▼
//!                                            status ──► socket ──► `joulepath status`
//! ```
//! | module | what |
//! |---|---|
//! | [`snapshot`] | the machine at one instant |
//! | [`decide`] | what the endpoints should be, and why: pure |
//! | [`act`] | what is wanted becomes what is there, noted before it is changed |
//! | [`ledger`], [`calendar`] | bytes and joules by interface and day: pure |
//! | [`joules`] | what traffic costs |

#![cfg(target_os = "linux")]

pub mod act;
pub mod calendar;
pub mod decide;
pub mod joules;
pub mod ledger;
pub mod snapshot;
