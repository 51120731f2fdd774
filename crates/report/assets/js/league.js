// Puts the page of the league together. The picture's colours are its own style sheet's: a new theme needs no redrawing.

scrollHints();
theme(() => {});
