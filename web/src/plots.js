// Figures become plots when they first become visible, because a report has dozens.
import {charts, columnOf, deviceOf, drawnTableOf, tableOf} from './data.js';
import {echarts} from './echarts.js';
import {kTitleHeight, optionOf, placeNames, titled} from './option.js';
import {csv, save, savePng} from './save.js';

const drawn = new Map();  // figure -> {chart, peers, log, instance}
let printing = false;

// Every plot has the same buttons, so the title says what each does.
function button(chart, label, title, action) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = label;
  element.title = title;
  element.setAttribute('aria-label', `${/^\w/.test(label) ? label : title}, ${chart.title}`);
  element.addEventListener('click', () => action(element));
  return element;
}

function svgOf(plot) {
  const width = plot.instance.getWidth();
  const height = plot.instance.getHeight() + kTitleHeight;
  const still = echarts.init(null, null, {renderer: 'svg', ssr: true, width, height});
  const option = plot.instance.getOption();  // with the current zoom
  const zoom = option.dataZoom.map(({start, end}) => ({start, end}));
  const size = {width, height};
  still.setOption(titled(optionOf(plot.chart, plot.log, size, plot.peers), plot.chart.title, deviceOf(plot.chart), size));
  still.setOption({dataZoom: zoom});
  placeNames(still, plot.chart);
  const svg = still.renderToSVGString();
  still.dispose();
  return {svg, width, height};
}

// ECharts paints the cells of a heat map over many frames of about 15 ms. Printing does not wait for the next frame.
function paintWhole(plot) {
  const canvas = plot.instance.getZr();
  for (const element of canvas.storage.getDisplayList(true)) element.incremental = 0;
  canvas.refresh();
  canvas.flush();
}

// Draws the plot again and keeps its zoom.
function render(plot) {
  const zoom = plot.instance.getOption()?.dataZoom?.map(({start, end}) => ({start, end}));
  const option = optionOf(plot.chart, plot.log, {width: plot.instance.getWidth(), height: plot.instance.getHeight()}, plot.peers);
  zoom?.forEach((range, index) => Object.assign(option.dataZoom[index], range));
  plot.instance.setOption(option, true);
  placeNames(plot.instance, plot.chart);
}

function zoomBy(plot, factor) {
  plot.instance.getOption().dataZoom.forEach(({start, end}, dataZoomIndex) => {
    const middle = (start + end) / 2;
    const half = Math.min(50, (end - start) / 2 * factor);
    const from = Math.min(Math.max(middle - half, 0), 100 - 2 * half);
    plot.instance.dispatchAction({type: 'dataZoom', dataZoomIndex, start: from, end: from + 2 * half});
  });
}

function panBy(plot, dataZoomIndex, part) {
  const {start, end} = plot.instance.getOption().dataZoom[dataZoomIndex];
  const step = Math.max(-start, Math.min(100 - end, (end - start) * part));
  plot.instance.dispatchAction({type: 'dataZoom', dataZoomIndex, start: start + step, end: end + step});
}

function resetZoom(plot) {
  for (const dataZoomIndex of [0, 1]) plot.instance.dispatchAction({type: 'dataZoom', dataZoomIndex, start: 0, end: 100});
}

function canBeLogarithmic(chart, axis) {
  const columns = axis === 'x' || chart.plot === 'density' ? [chart[axis].column] : chart.series.map((one) => one.column);
  const table = drawnTableOf(chart);
  return columns.every((name) => columnOf(table, name).every((value) => value === null || value > 0));
}

function tools(plot) {
  const bar = document.createElement('div');
  bar.className = 'tools';
  if (plot.chart.plot !== 'map') {
    for (const axis of ['x', 'y']) {
      if (!canBeLogarithmic(plot.chart, axis)) continue;
      const toggle = button(plot.chart, `log ${axis}`, `Logarithmic ${axis} axis`, (element) => {
        plot.log[axis] = !plot.log[axis];
        element.setAttribute('aria-pressed', plot.log[axis]);
        render(plot);
      });
      toggle.setAttribute('aria-pressed', plot.log[axis]);
      bar.append(toggle);
    }
  }
  const {name} = tableOf(plot.chart);
  bar.append(
      button(plot.chart, '+', 'Zoom in', () => zoomBy(plot, 0.5)),
      button(plot.chart, '\u2212', 'Zoom out', () => zoomBy(plot, 2)),
      button(plot.chart, 'Reset', 'Show everything', () => resetZoom(plot)),
      button(plot.chart, 'SVG', 'Save the plot as SVG', () => save(`${name}.svg`, 'image/svg+xml', svgOf(plot).svg)),
      button(plot.chart, 'PNG', 'Save the plot as PNG', () => {
        const {svg, width, height} = svgOf(plot);
        savePng(`${name}.png`, svg, width, height);
      }),
      button(plot.chart, 'CSV', 'Save the samples as CSV', () => {
        const table = tableOf(plot.chart);
        const rows = table.data[0].map((_, r) => table.data.map((column) => column[r]));
        save(`${name}.csv`, 'text/csv', csv([table.names, ...rows]));
      }));
  return bar;
}

function onKey(plot, event) {
  const actions = {
    '+': () => zoomBy(plot, 0.5), '=': () => zoomBy(plot, 0.5), '-': () => zoomBy(plot, 2), '0': () => resetZoom(plot),
    ArrowLeft: () => panBy(plot, 0, -0.1), ArrowRight: () => panBy(plot, 0, 0.1),
    ArrowDown: () => panBy(plot, 1, -0.1), ArrowUp: () => panBy(plot, 1, 0.1),
  };
  // The legend is for pointers; keys select a line by its number in the legend.
  const series = plot.chart.series[Number(event.key) - 1];
  const toggle = series && plot.chart.series.length > 1 && (() => plot.instance.dispatchAction({type: 'legendToggleSelect', name: series.label}));
  const action = event.ctrlKey || event.altKey || event.metaKey ? undefined : actions[event.key] || toggle;
  if (!action) return;
  event.preventDefault();
  action();
}

const kRowsListed = 50;

// The samples as a table for readers, built when it is opened.
function samplesTable(chart) {
  const details = document.createElement('details');
  details.className = 'samples';
  const summary = document.createElement('summary');
  const {names, data} = tableOf(chart);
  const rows = Math.min(data[0].length, kRowsListed);
  summary.textContent = rows < data[0].length ? `The first ${rows} of ${data[0].length} rows` : 'Samples as a table';
  details.append(summary);
  details.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return;
    const scroll = document.createElement('div');
    Object.assign(scroll, {className: 'scroll', tabIndex: 0});
    scroll.setAttribute('role', 'region');
    scroll.setAttribute('aria-label', `Samples, ${chart.title}`);
    const table = document.createElement('table');
    const head = table.createTHead().insertRow();
    for (const name of names) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.textContent = name.replaceAll('_', ' ');
      head.append(cell);
    }
    const body = table.createTBody();
    for (let r = 0; r < rows; ++r) {
      const row = body.insertRow();
      for (const column of data) row.insertCell().textContent = column[r] ?? '-';
    }
    scroll.append(table);
    details.append(scroll);
  });
  return details;
}

// A scaled drawing, as on paper, must know its size.
function giveViewBox(plot) {
  const svg = plot.instance.getDom().querySelector('svg');
  svg?.setAttribute('viewBox', `0 0 ${plot.instance.getWidth()} ${plot.instance.getHeight()}`);
}

function figuresBeside(figure) {
  const pair = figure.closest('.pair');
  return pair ? [...pair.querySelectorAll('figure.chart')] : [figure];
}

function chartOf(figure) {
  return charts[Number(figure.dataset.chart)];
}

// Plots of the same samples of two reports move together: a zoom applies to all, and the cursor is at the same place of
// their equal axes.
function link(figure, plot) {
  const others = () => figuresBeside(figure).filter((one) => one !== figure && drawn.has(one)).map((one) => drawn.get(one));
  plot.instance.on('datazoom', () => {
    if (plot.follows) return;
    const zoom = plot.instance.getOption().dataZoom;
    for (const other of others()) {
      other.follows = true;
      zoom.forEach(({start, end}, dataZoomIndex) => other.instance.dispatchAction({type: 'dataZoom', dataZoomIndex, start, end}));
      other.follows = false;
    }
  });
  const canvas = plot.instance.getZr();
  canvas.on('mousemove', ({offsetX, offsetY}) => {
    if (!plot.instance.containPixel('grid', [offsetX, offsetY])) return;
    const at = plot.instance.convertFromPixel('grid', [offsetX, offsetY]);
    for (const other of others()) {
      const [x, y] = other.instance.convertToPixel('grid', at);
      other.instance.dispatchAction({type: 'showTip', x, y});
    }
  });
  canvas.on('globalout', () => {
    for (const other of others()) {
      other.instance.dispatchAction({type: 'updateAxisPointer', currTrigger: 'leave'});
      other.instance.dispatchAction({type: 'hideTip'});
    }
  });
}

function draw(figure) {
  if (drawn.has(figure)) return;
  const chart = chartOf(figure);
  const place = figure.querySelector('.plot');
  const plot = {chart, peers: figuresBeside(figure).map(chartOf), log: {x: chart.x.log, y: chart.y.log}};
  if (plot.peers.length > 1) plot.log = {x: plot.peers.every((one) => one.x.log), y: plot.peers.every((one) => one.y.log)};
  // A map has tens of thousands of cells, too many for document elements.
  plot.instance = echarts.init(place, null, {renderer: chart.plot === 'map' ? 'canvas' : 'svg'});
  render(plot);
  plot.instance.on('datazoom', () => placeNames(plot.instance, plot.chart));
  const label = place.getAttribute('aria-label');
  place.setAttribute('aria-label', `${label}. Keys: plus and minus zoom, arrows move, 0 shows everything${chart.series.length > 1 ? ', a digit hides or shows a line' : ''}.`);
  place.addEventListener('keydown', (event) => onKey(plot, event));
  figure.prepend(tools(plot));
  figure.append(samplesTable(chart));
  drawn.set(figure, plot);
  if (plot.peers.length > 1) link(figure, plot);
}

// Plots with outdated colors or width, until they become visible again: a page may have hundreds.
const stale = new Set();
const seen = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    show(target);
  }
}, {rootMargin: '300px'});

function show(figure) {
  if (!drawn.has(figure)) draw(figure);
  if (!stale.delete(figure)) return;
  const plot = drawn.get(figure);
  plot.instance.resize();
  render(plot);  // the layout depends on the width
  figure.classList.remove('stale');
}

function redrawOnceSeen(figure) {
  stale.add(figure);
  figure.classList.add('stale');
  seen.unobserve(figure);
  seen.observe(figure);
}

export function redraw() {
  for (const figure of drawn.keys()) redrawOnceSeen(figure);
}

export function setUpPlots() {
  const figures = [...document.querySelectorAll('figure.chart')];
  for (const figure of figures) seen.observe(figure);
  const sizes = new ResizeObserver((entries) => {
    for (const {target} of entries) {
      const figure = target.closest('figure');
      // On paper the drawing is scaled. A plot within folded evidence is drawn again once it is seen.
      if (!drawn.has(figure) || printing || !figure.checkVisibility()) continue;
      if (drawn.get(figure).instance.getWidth() !== target.clientWidth) redrawOnceSeen(figure);
    }
  });
  for (const figure of figures) sizes.observe(figure.querySelector('.plot'));
  window.addEventListener('beforeprint', () => {
    printing = true;
    // Prints what the reader has opened.
    for (const figure of figures) {
      if (!figure.checkVisibility()) continue;
      show(figure);
      const plot = drawn.get(figure);
      giveViewBox(plot);
      if (plot.chart.plot === 'map') paintWhole(plot);
    }
  });
  window.addEventListener('afterprint', () => printing = false);
}
