//! Theorems 1 and 2 of 003, as printed and as the book that it cites proves them (Neely 2010,
//! theorem 4.8).
//!
//! Units: B in packets²; V in packets per J/Mbit; energies in (J/Mbit) × packets per slot, that is
//! joules per slot divided by the Mbit of a packet; ε in packets per slot that a stationary policy
//! carries above the load.

/// Theorem 1, eq. (15): Q̄ ≤ (B + V (ψ(ε) − Ē))/ε, packets, where ψ(ε) is the minimum energy to
/// carry ε more than the load.
pub fn backlog(b: f64, v: f64, slack_energy: f64, mean_energy: f64, slack: f64) -> f64 {
    (b + v * (slack_energy - mean_energy)) / slack
}

/// Theorem 2 as the book proves it: Ē − E* ≤ B/V.
pub fn gap(b: f64, v: f64) -> f64 {
    b / v
}

/// Theorem 2 as printed: Ē − E* ≤ B + (B + V (E_max − E_min))/ε. This bound grows with V.
pub fn printed_gap(b: f64, v: f64, largest_energy: f64, least_energy: f64, slack: f64) -> f64 {
    b + (b + v * (largest_energy - least_energy)) / slack
}
