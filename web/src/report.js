// The script of an HTML report. The page can be read without it; this adds plots, filters, themes and export.
import {setUpChip} from './chip.js';
import {setUpOperations} from './operations.js';
import {redraw, setUpPlots} from './plots.js';
import {setUpScrolling} from './scroll.js';
import {setUpTheme} from './theme.js';
import {setUpValues} from './values.js';

// A link to evidence opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === 'DETAILS') {
    for (let outer = target; outer; outer = outer.parentElement.closest('details')) outer.open = true;
    target.scrollIntoView();
  }
}

// The place of a value in the JSON, for jq and scripts.
function setUpCopying() {
  for (const button of document.querySelectorAll('.copy')) {
    const path = button.parentElement.querySelector('code').textContent;
    button.hidden = false;
    button.setAttribute('aria-label', `Copy ${path}`);
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(path);
      button.textContent = 'Copied';
    });
  }
}

setUpTheme(redraw);
setUpCopying();
setUpPlots();
setUpChip();
setUpValues();
setUpOperations();
setUpScrolling();
window.addEventListener('hashchange', openTarget);
openTarget();
document.documentElement.dataset.ready = 'yes';
