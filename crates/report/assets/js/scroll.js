// Marks boxes that scroll sideways.

/** Sets the classes `more-left` and `more-right` of every scroller, which the style sheet draws. */
function scrollHints() {
  for (const box of document.querySelectorAll(".scroller > .scroll")) {
    const mark = () => {
      const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
      box.parentNode.classList.toggle("more-right", rest > 1);
      box.parentNode.classList.toggle("more-left", box.scrollLeft > 1);
    };
    box.addEventListener("scroll", mark, { passive: true });
    new ResizeObserver(mark).observe(box);
  }
}
