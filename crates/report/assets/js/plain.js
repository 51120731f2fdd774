// Sets up a page without charts: scrolling tables, and the theme.

scrollHints();
theme(() => {});
