//! Both ends over loopback: what programs see.

mod datagrams;
mod ends;
mod refused;
mod traffic;
mod twin;
