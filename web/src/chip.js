// What is known of the memory that the reader points at, beside the drawing.
import {reports} from './data.js';

function describe(part) {
  const lines = part.querySelector('title').textContent.split('\n\n').map((text) => text.split('\n'));
  const nodes = [];
  const ids = part.dataset.elements.split(' ');
  for (const [index, [heading, ...values]] of lines.entries()) {
    const title = document.createElement('h3');
    title.textContent = heading;
    const list = document.createElement('dl');
    for (const value of values) {
      const colon = value.indexOf(': ');
      const name = document.createElement('dt');
      const link = document.createElement('a');
      link.textContent = value.slice(0, colon);
      link.href = `#evidence-${ids[index]}-${value.slice(0, colon).replaceAll(' ', '_')}`;
      name.append(link);
      const figure = document.createElement('dd');
      figure.textContent = value.slice(colon + 2);
      list.append(name, figure);
    }
    nodes.push(title, list);
  }
  return nodes;
}

export function setUpChip() {
  const panel = document.getElementById('part');
  if (!panel || reports.length !== 1) return;
  for (const part of document.querySelectorAll('.chip .part')) {
    const show = () => panel.replaceChildren(...describe(part));
    part.addEventListener('mouseenter', show);
    part.addEventListener('focus', show);
  }
}
