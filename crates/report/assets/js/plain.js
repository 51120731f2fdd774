// Sets up a page that draws nothing: tables that scroll, and the theme.

scrollHints();
theme(() => {});
