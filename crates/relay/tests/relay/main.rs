//! Both ends over loopback: what programs see.

mod ends;
mod refused;
mod traffic;
