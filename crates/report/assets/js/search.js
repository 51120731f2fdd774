// The page of a search has nothing to draw: its pictures stand in it.

theme(() => {});
scrollHints();
