// Content wider than its place scrolls sideways; an edge that hides more of it fades.
export function setUpScrolling() {
  for (const region of document.querySelectorAll('main > section .scroll')) {
    const mark = () => {
      region.classList.toggle('more-before', region.scrollLeft > 1);
      region.classList.toggle('more-after', region.scrollLeft + region.clientWidth < region.scrollWidth - 1);
    };
    region.addEventListener('scroll', mark, {passive: true});
    new ResizeObserver(mark).observe(region);
  }
}
