// Filters and export of the table of operations.
import {reports} from './data.js';
import {save} from './save.js';
import {fileName} from './values.js';

export function setUpOperations() {
  const form = document.getElementById('operation-filters');
  const table = document.getElementById('operations');
  if (!form || !table) return;
  form.hidden = false;
  const rows = [...table.tBodies[0].rows];
  const [text, of, type, count] = ['text', 'class', 'type', 'count'].map((name) => document.getElementById(`operation-${name}`));
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = row.textContent.toLowerCase();
      const fits = (!of.value || row.dataset.of === of.value) && (!type.value || row.dataset.type === type.value) &&
          words.every((word) => content.includes(word));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${rows.length} operations`;
  };
  form.addEventListener('input', apply);
  form.addEventListener('submit', (event) => event.preventDefault());
  apply();
  document.getElementById('export-operations').addEventListener('click', () => {
    // The lines of --csv, which are in the table of all values.
    const values = document.getElementById('values');
    const groups = new Set(rows.filter((row) => !row.hidden).map((row) => row.dataset.group));
    const own = [...values.tBodies[0].rows].filter((row) => groups.has(row.dataset.group));
    save(fileName(reports[0], 'operations.csv'), 'text/csv', [values, ...own].map((line) => `${line.dataset.csv}\r\n`).join(''));
  });
}
