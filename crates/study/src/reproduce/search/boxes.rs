//! The boxes of all claims, declared before anything runs: what each paper leaves open, from where to where,
//! and why.
//!
//! A box is shared by the experiments of one set-up: they are judged on the same runs. What a paper prints is
//! not in its box.

mod of000;
mod of001;
mod of002;
mod of002_networks;
mod of003;
mod of004;
mod open;

pub(in crate::reproduce) use open::ClaimBox;

/// All of them, in the order of the papers.
pub(in crate::reproduce) fn boxes() -> Vec<ClaimBox> {
    let of_papers = [
        of000::boxes(),
        of001::boxes(),
        of002::boxes(),
        of002_networks::boxes(),
        of003::boxes(),
        of004::boxes(),
    ];
    of_papers.into_iter().flatten().collect()
}
