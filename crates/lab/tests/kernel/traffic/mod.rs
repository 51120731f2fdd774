//! Traffic between two namespaces, over cables and over emulated radios.

mod ends;
mod radios;
