//! The packet engine: a fast discrete-event simulator of MPTCP
