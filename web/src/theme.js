// Light and dark theme: the system's choice, until the reader chooses.
export function setUpTheme(onChange) {
  const root = document.documentElement;
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const button = document.getElementById('theme');
  let chosen = false;
  const set = (theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === 'dark' ? 'Light theme' : 'Dark theme';
    onChange();
  };
  set(system.matches ? 'dark' : 'light');
  button.hidden = false;
  button.addEventListener('click', () => {
    chosen = true;
    set(root.dataset.theme === 'dark' ? 'light' : 'dark');
  });
  system.addEventListener('change', () => {
    if (!chosen) set(system.matches ? 'dark' : 'light');
  });
  // Paper is white.
  let before = null;
  window.addEventListener('beforeprint', () => {
    before = root.dataset.theme;
    set('light');
  });
  window.addEventListener('afterprint', () => set(before));
}
