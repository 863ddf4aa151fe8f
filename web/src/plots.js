// Figures become plots when they are first seen: a report has dozens.
import {charts, columnOf, tableOf} from './data.js';
import {echarts} from './echarts.js';
import {optionOf} from './option.js';
import {csv, save, savePng} from './save.js';

const drawn = new Map();  // figure -> {chart, log, instance}

function button(label, title, action) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = label;
  element.title = title;
  element.addEventListener('click', () => action(element));
  return element;
}

function svgOf(plot) {
  const width = plot.instance.getWidth();
  const height = plot.instance.getHeight();
  const still = echarts.init(null, null, {renderer: 'svg', ssr: true, width, height});
  const option = plot.instance.getOption();  // with the zoom as it is
  const zoom = option.dataZoom.map(({start, end}) => ({start, end}));
  still.setOption(optionOf(plot.chart, plot.log));
  still.setOption({dataZoom: zoom});
  const svg = still.renderToSVGString();
  still.dispose();
  return {svg, width, height};
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
  const columns = axis === 'x' || chart.kind === 'density' ? [chart[axis].column] : chart.series.map((one) => one.column);
  const table = tableOf(chart);
  return columns.every((name) => columnOf(table, name).every((value) => value === null || value > 0));
}

function tools(plot) {
  const bar = document.createElement('div');
  bar.className = 'tools';
  if (plot.chart.kind !== 'map') {
    for (const axis of ['x', 'y']) {
      if (!canBeLogarithmic(plot.chart, axis)) continue;
      const toggle = button(`log ${axis}`, `Logarithmic ${axis} axis`, (element) => {
        plot.log[axis] = !plot.log[axis];
        element.setAttribute('aria-pressed', plot.log[axis]);
        plot.instance.setOption(optionOf(plot.chart, plot.log), true);
      });
      toggle.setAttribute('aria-pressed', plot.log[axis]);
      bar.append(toggle);
    }
  }
  const {name} = tableOf(plot.chart);
  bar.append(
      button('+', 'Zoom in', () => zoomBy(plot, 0.5)),
      button('\u2212', 'Zoom out', () => zoomBy(plot, 2)),
      button('Reset', 'Show everything', () => resetZoom(plot)),
      button('SVG', 'Save the plot as SVG', () => save(`${name}.svg`, 'image/svg+xml', svgOf(plot).svg)),
      button('PNG', 'Save the plot as PNG', () => {
        const {svg, width, height} = svgOf(plot);
        savePng(`${name}.png`, svg, width, height);
      }),
      button('CSV', 'Save the samples as CSV', () => {
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
  const action = event.ctrlKey || event.altKey || event.metaKey ? undefined : actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function draw(figure) {
  if (drawn.has(figure)) return;
  const chart = charts[Number(figure.dataset.chart)];
  const place = figure.querySelector('.plot');
  const plot = {chart, log: {x: chart.x.log, y: chart.y.log}};
  // A map has tens of thousands of cells, too many for elements of a document.
  plot.instance = echarts.init(place, null, {renderer: chart.kind === 'map' ? 'canvas' : 'svg'});
  plot.instance.setOption(optionOf(chart, plot.log));
  const label = place.getAttribute('aria-label');
  place.setAttribute('aria-label', `${label}. Keys: plus and minus zoom, arrows move, 0 shows everything.`);
  place.addEventListener('keydown', (event) => onKey(plot, event));
  figure.prepend(tools(plot));
  // Charts of the same samples of two reports move together.
  const pair = figure.closest('.pair');
  if (pair) {
    plot.instance.group = pair.id;
    echarts.connect(pair.id);
  }
  drawn.set(figure, plot);
}

export function redraw() {
  for (const plot of drawn.values()) plot.instance.setOption(optionOf(plot.chart, plot.log), true);
}

export function setUpPlots() {
  const figures = [...document.querySelectorAll('figure.chart')];
  const seen = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(target);
    }
  }, {rootMargin: '300px'});
  for (const figure of figures) seen.observe(figure);
  const sizes = new ResizeObserver((entries) => {
    for (const {target} of entries) drawn.get(target.closest('figure'))?.instance.resize();
  });
  for (const figure of figures) sizes.observe(figure.querySelector('.plot'));
  window.addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
    figures.forEach(draw);
  });
}
