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
      link.href = `#evidence-${ids[index]}-${value.slice(0, colon).toLowerCase().replaceAll(' ', '_')}`;
      name.append(link);
      const figure = document.createElement('dd');
      figure.textContent = value.slice(colon + 2);
      list.append(name, figure);
    }
    nodes.push(title, list);
  }
  return nodes;
}

// What each SM waits for L2, in place of which part of it is near.
function setUpHeat() {
  const toggle = document.getElementById('heat');
  const drawing = document.querySelector('.chip svg.gt');
  if (!toggle || !drawing) return;
  toggle.hidden = false;
  toggle.setAttribute('aria-pressed', 'false');
  toggle.addEventListener('click', () => toggle.setAttribute('aria-pressed', drawing.classList.toggle('hot')));
}

// Pointing at a part shows it. A click or the enter key keeps it there and goes on to its links, the escape key goes back.
export function setUpChip() {
  setUpHeat();
  const panel = document.getElementById('part');
  if (!panel || reports.length !== 1) return;
  let kept = null;
  const keep = (part) => {
    kept?.setAttribute('aria-pressed', 'false');
    kept = part;
    kept?.setAttribute('aria-pressed', 'true');
    panel.classList.toggle('kept', kept !== null);
  };
  const release = () => {
    const part = kept;
    keep(null);
    part?.focus();
  };
  for (const part of document.querySelectorAll('.chip .part')) {
    const show = () => panel.replaceChildren(...describe(part));
    part.setAttribute('role', 'button');
    part.setAttribute('aria-pressed', 'false');
    part.setAttribute('aria-controls', panel.id);
    part.addEventListener('mouseenter', () => {
      if (!kept) show();
    });
    part.addEventListener('focus', () => {
      if (kept !== part) keep(null);
      show();
    });
    const open = () => {
      show();
      keep(part);
      panel.querySelector('a')?.focus({preventScroll: true});
    };
    part.addEventListener('click', () => kept === part ? release() : open());
    part.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        open();
      } else if (event.key === 'Escape') {
        keep(null);
      }
    });
  }
  panel.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') release();
  });
}
