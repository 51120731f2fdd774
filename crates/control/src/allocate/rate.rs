//! Rates of a long-lived TCP connection in closed form.

/// Rate in bit/s by Mathis, Semke, Mahdavi and Ott (CCR 1997), as in 000: C = MSS / (τ √(2p/3)).
///
/// This constant is √(3/2); the mean-field window of Reno in the fluid model is √2. Infinite for
/// `loss` 0.
pub fn mathis_bps(mss_bytes: f64, rtt_s: f64, loss: f64) -> f64 {
    8.0 * mss_bytes / (rtt_s * (2.0 * loss / 3.0).sqrt())
}

/// Packets per second by Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998), eq. (30) without the
/// window limit:
///
/// 1 / (τ √(2bp/3) + T₀ min(1, 3 √(3bp/8)) p (1 + 32p²)), with b = `acked_per_ack` and T₀ =
/// `timeout_s`.
pub fn pftk_pps(rtt_s: f64, timeout_s: f64, loss: f64, acked_per_ack: f64) -> f64 {
    let fast = rtt_s * (2.0 * acked_per_ack * loss / 3.0).sqrt();
    let slow = timeout_s
        * (3.0 * (3.0 * acked_per_ack * loss / 8.0).sqrt()).min(1.0)
        * loss
        * (1.0 + 32.0 * loss * loss);
    1.0 / (fast + slow)
}
