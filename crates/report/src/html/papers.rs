//! Sections of a page by paper, for the pages of experiments and of claims. `papers-index.html`
//! shows the groups as a table.

/// An item with its own section and a verdict.
pub(super) trait Judged {
    type Verdict: Copy + PartialEq;

    fn id(&self) -> &str;
    fn paper(&self) -> &str;
    fn verdict(&self) -> Self::Verdict;

    /// Whether it is a statement of a paper; this project's own are shown and not counted.
    fn is_counted(&self) -> bool {
        true
    }
}

/// The sections of one paper.
pub(super) struct Group<S> {
    pub(super) paper: String,
    pub(super) sections: Vec<S>,
}

impl<S: Judged> Group<S> {
    /// Name for headings.
    pub(super) fn name(&self) -> String {
        if self.paper == "claim" {
            "Headline claims".into()
        } else {
            format!("Paper {}", self.paper)
        }
    }

    fn counted(&self) -> impl Iterator<Item = &S> {
        self.sections.iter().filter(|section| section.is_counted())
    }

    /// Number of sections that count.
    pub(super) fn count(&self) -> usize {
        self.counted().count()
    }

    /// For each verdict: number of sections that count, and the id of the first one.
    pub(super) fn counts<const N: usize>(
        &self,
        verdicts: [S::Verdict; N],
    ) -> [(S::Verdict, usize, Option<&str>); N] {
        verdicts.map(|verdict| {
            let of = || {
                self.counted()
                    .filter(|section| section.verdict() == verdict)
            };
            (verdict, of().count(), of().next().map(S::id))
        })
    }
}

/// Groups consecutive sections.
pub(super) fn by_paper<S: Judged>(sections: impl IntoIterator<Item = S>) -> Vec<Group<S>> {
    let mut groups: Vec<Group<S>> = Vec::new();
    for section in sections {
        match groups.last_mut() {
            Some(group) if group.paper == section.paper() => group.sections.push(section),
            _ => groups.push(Group {
                paper: section.paper().to_owned(),
                sections: vec![section],
            }),
        }
    }
    groups
}
