//! Packet schedulers, path selectors and rate allocators, sans-IO
