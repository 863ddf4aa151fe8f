// Shows the values of the memory that the reader points at, beside the drawing, and exports the drawing.
import {reports} from './data.js';
import {printAlone, save, savePng} from './save.js';
import {fileName} from './values.js';

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

// The drawing as it looks now, as a standalone document with a name, and with colors instead of custom properties.
function standalone(drawing) {
  const style = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule.selectorText?.includes('.gt'))
      .map((rule) => rule.cssText.replace(/var\(--([\w-]+)\)/g, (_, name) => style.getPropertyValue(`--${name}`).trim()));
  const kRoom = 40;  // for the name
  const [x, y, width, height] = drawing.getAttribute('viewBox').split(' ').map(Number);
  const size = {width, height: height + kRoom};
  const copy = drawing.cloneNode(true);
  const make = (name, attributes, content = '') => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = content;
    return element;
  };
  for (const part of copy.querySelectorAll('[tabindex]')) {
    for (const name of ['tabindex', 'role', 'aria-pressed', 'aria-controls']) part.removeAttribute(name);
  }
  const place = {x, y: y - kRoom, ...size};
  for (const [key, value] of Object.entries({viewBox: Object.values(place).join(' '), ...size})) copy.setAttribute(key, value);
  const {device} = reports[0];
  copy.prepend(
      make('style', {}, rules.join('')), make('rect', {...place, fill: style.getPropertyValue('--page').trim()}),
      make('text', {class: 'name', x: x + 14, y: y - 14}, device.name));
  if (device.simulated) {
    copy.append(make('text', {class: 'name alert', x: x + width - 14, y: y - 14, 'text-anchor': 'end'}, 'SIMULATED'));
  }
  return {svg: new XMLSerializer().serializeToString(copy), ...size};
}

function setUpExport() {
  const drawing = document.querySelector('.chip svg.gt');
  if (!drawing || reports.length !== 1) return;
  const bar = Object.assign(document.createElement('div'), {className: 'tools'});
  const add = (text, label, action) => {
    const button = Object.assign(document.createElement('button'), {type: 'button', textContent: text, title: label});
    button.setAttribute('aria-label', `${text}: ${label}`);
    button.addEventListener('click', action);
    bar.append(button);
  };
  const called = (ending) => fileName(reports[0], `chip.${ending}`);
  add('SVG', 'Save the drawing as SVG', () => save(called('svg'), 'image/svg+xml', standalone(drawing).svg));
  add('PNG', 'Save the drawing as PNG', () => {
    const {svg, width, height} = standalone(drawing);
    savePng(called('png'), svg, width, height);
  });
  add('PDF', 'Print only the drawing, to save it as PDF', () => {
    const {svg, width, height} = standalone(drawing);
    printAlone(called('pdf'), svg, width, height);
  });
  drawing.closest('section').querySelector('h2').after(bar);
  const heat = document.getElementById('heat');
  if (heat) bar.prepend(heat);
}

// Shows each SM's latency to L2 instead of the partition that it is near.
function setUpHeat() {
  const toggle = document.getElementById('heat');
  const drawing = document.querySelector('.chip svg.gt');
  if (!toggle || !drawing) return;
  toggle.hidden = false;
  toggle.setAttribute('aria-pressed', 'false');
  toggle.addEventListener('click', () => toggle.setAttribute('aria-pressed', drawing.classList.toggle('hot')));
}

// Pointing at a part shows it. A click or Enter keeps it and moves the focus to its links; Escape goes back.
export function setUpChip() {
  setUpHeat();
  setUpExport();
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
