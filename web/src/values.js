// Filters and export of the table of all values.
import {reports} from './data.js';
import {save} from './save.js';

export function fileName(report, ending) {
  const name = report.device.name.replace(/[^A-Za-z0-9.-]+/g, '_') || 'gpu';
  return `gputopo-${name}.${ending}`;
}

export function setUpValues() {
  const form = document.getElementById('filters');
  const table = document.getElementById('values');
  if (!form || !table) return;
  form.hidden = false;
  const rows = [...table.tBodies[0].rows];
  const text = document.getElementById('filter-text');
  const group = document.getElementById('filter-group');
  const source = document.getElementById('filter-source');
  const count = document.getElementById('filter-count');
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = `${row.textContent} ${row.dataset.path}`.toLowerCase();
      const fits = (!group.value || row.dataset.group === group.value) &&
          (!source.value || row.dataset.source === source.value) && words.every((word) => content.includes(word));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${rows.length} values`;
  };
  form.addEventListener('input', apply);
  form.addEventListener('submit', (event) => event.preventDefault());
  apply();
  document.getElementById('export-values').addEventListener('click', () => {
    // The lines of --csv.
    const lines = [table, ...rows.filter((row) => !row.hidden)].map((line) => `${line.dataset.csv}\r\n`);
    save(fileName(reports[0], 'csv'), 'text/csv', lines.join(''));
  });
  document.getElementById('export-report').addEventListener('click', () => {
    save(fileName(reports[0], 'json'), 'application/json', JSON.stringify(reports[0], null, 2) + '\n');
  });
}
