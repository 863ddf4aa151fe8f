// The script of an HTML report. The page is readable without it; the script adds plots, filters, themes and export.
import {setUpChip} from './chip.js';
import {setUpKeys} from './keys.js';
import {setUpOperations} from './operations.js';
import {redraw, setUpPlots} from './plots.js';
import {setUpScrolling} from './scroll.js';
import {setUpTheme} from './theme.js';
import {setUpValues} from './values.js';

// A link to folded content opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const outermost = target && target.closest('details');
  if (!outermost) return;
  for (let outer = outermost; outer; outer = outer.parentElement.closest('details')) outer.open = true;
  target.scrollIntoView();
  // Keyboard users continue from there.
  (target.querySelector(':scope > summary') ?? target).focus({preventScroll: true});
}

// Copies the place of a value in the JSON, for jq and scripts.
function setUpCopying() {
  for (const code of document.querySelectorAll('.path code')) {
    const path = code.textContent;
    const button = Object.assign(document.createElement('button'), {type: 'button', className: 'copy', textContent: 'Copy'});
    button.setAttribute('aria-label', `Copy ${path}`);
    code.after(' ', button);
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(path);
      button.textContent = 'Copied';
    });
  }
}

// Links the methods in the table of all values to their explanations.
function setUpMethods() {
  const ids = new Map([...document.querySelectorAll('.methods dt')].map((term) => [term.textContent, term.id]));
  for (const row of document.querySelectorAll('#values tbody tr')) {
    const text = row.lastElementChild.firstChild;
    const id = text && ids.get(text.textContent.trim());
    if (!id) continue;
    const link = Object.assign(document.createElement('a'), {href: `#${id}`, textContent: text.textContent.trim()});
    text.replaceWith(link, ' ');
  }
}

setUpTheme(redraw);
setUpMethods();
setUpCopying();
setUpPlots();
setUpChip();
setUpValues();
setUpOperations();
setUpScrolling();
setUpKeys();
window.addEventListener('hashchange', openTarget);
openTarget();
document.documentElement.dataset.ready = 'yes';
