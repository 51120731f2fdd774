// Boxes that scroll sideways show on which side there is more.

/** Marks every scroller by what is out of sight; the style sheet draws it. */
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
