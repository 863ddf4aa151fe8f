// The reports and charts in the page.
function block(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

export const reports = [];
for (let i = 0; ; ++i) {
  const report = block(`report-${i}`);
  if (!report) break;
  reports.push(report);
}
export const charts = block('charts') || [];

// The device's name as in one-line outputs.
export function deviceOf(chart) {
  if (chart.device) return chart.device;
  const {device} = reports[chart.report];
  return `${device.simulated ? 'SIMULATED ' : ''}${device.name}`;
}

export function attributeOf(chart) {
  const report = reports[chart.report];
  if (chart.group === 'gpu') return report.device[chart.attribute];
  if (chart.group === 'compute') return report.compute[chart.attribute];
  return report.memory[chart.group][chart.attribute];
}

// The columns of a chart's table by name, and their order.
export function tableOf(chart) {
  if (chart.samples) return chart.samples;
  const attribute = attributeOf(chart);
  const table = attribute.samples.find((one) => one.name === chart.table);
  return {name: table.name, names: table.columns.map((column) => column.name), data: table.data};
}

// The same table as drawn: without the timer cost in latencies, like the values.
const drawnTables = new Map();
export function drawnTableOf(chart) {
  const table = tableOf(chart);
  if (!chart.timer) return table;
  if (!drawnTables.has(chart)) {
    const {cycles, columns} = chart.timer;
    const data = table.data.map((column, c) => columns.includes(table.names[c]) ?
        column.map((value) => value === null ? null : value - cycles) : column);
    drawnTables.set(chart, {...table, data});
  }
  return drawnTables.get(chart);
}

export function columnOf(table, name) {
  return table.data[table.names.indexOf(name)];
}
