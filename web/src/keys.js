// Keys for the whole page. In an input field they are letters, and a plot with the focus takes its own keys.
const kPlotKeys = [
  ['+ and \u2212', 'zoom the focused plot'],
  ['arrows', 'move the plot'],
  ['0', 'show the whole plot'],
  ['1 to 9', 'hide or show line 1 to 9 of the plot'],
];

const headings = () => [...document.querySelectorAll('main h2[id]')].filter((heading) => heading.offsetParent !== null);

function go(heading) {
  heading.tabIndex = -1;  // so that the next Tab continues from here
  heading.focus({preventScroll: true});
  heading.scrollIntoView();
}

// Goes to the section before or after the one at the top of the window.
function goBy(step) {
  const all = headings();
  const margin = 20;
  const current = all.filter((heading) => heading.getBoundingClientRect().top <= margin).length - 1;
  const isInside = current >= 0 && all[current].getBoundingClientRect().top < -margin;
  // From within a section, goes back to its beginning.
  const next = step < 0 && isInside ? current : current + step;
  // The last sections may be too short to reach the top.
  const focused = all.indexOf(document.activeElement);
  const goal = step > 0 && focused > current ? focused + 1 : step < 0 && focused > current ? focused - 1 : next;
  if (goal >= 0 && goal < all.length) go(all[goal]);
}

function search() {
  const field = document.getElementById('filter-text');
  if (!field) return false;
  field.scrollIntoView({block: 'center'});
  field.focus();
  field.select();
  return true;
}

function listOf(keys) {
  const list = document.createElement('dl');
  for (const [key, what] of keys) {
    const name = document.createElement('dt');
    name.append(Object.assign(document.createElement('kbd'), {textContent: key}));
    list.append(name, Object.assign(document.createElement('dd'), {textContent: what}));
  }
  return list;
}

function helpDialog(pageKeys) {
  const dialog = document.createElement('dialog');
  dialog.id = 'keys';
  dialog.setAttribute('aria-labelledby', 'h-keys');
  const heading = Object.assign(document.createElement('h2'), {id: 'h-keys', textContent: 'Keys'});
  const done = Object.assign(document.createElement('button'), {type: 'button', textContent: 'Close'});
  done.addEventListener('click', () => dialog.close());
  dialog.append(heading, listOf(document.querySelector('figure.chart') ? [...pageKeys, ...kPlotKeys] : pageKeys), done);
  document.body.append(dialog);
  return dialog;
}

export function setUpKeys() {
  const button = document.getElementById('keys-button');
  if (!button) return;
  const hasSearch = document.getElementById('filter-text') !== null;
  const hasHeat = document.getElementById('heat') !== null;
  const dialog = helpDialog([
    ...(hasSearch ? [['/', 'search the values']] : []),
    ['n', 'next section'],
    ['p', 'previous section'],
    ...(hasHeat ? [['h', 'show or hide L2 latency in the drawing']] : []),
    ['t', 'switch between light and dark theme'],
    ['?', 'show this list'],
    ['Esc', 'close this list, or deselect a part of the drawing'],
  ]);
  const actions = {
    '/': search, n: () => goBy(1), p: () => goBy(-1), t: () => document.getElementById('theme').click(), '?': () => dialog.showModal(),
    h: () => document.getElementById('heat')?.click(),
  };
  button.hidden = false;
  button.setAttribute('aria-haspopup', 'dialog');
  button.addEventListener('click', () => dialog.showModal());
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, select, textarea, [contenteditable]');
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isTyping || dialog.open) return;
    const action = actions[event.key];
    if (!action || action() === false) return;
    event.preventDefault();
  });
}
