// An ECharts option for a chart of the report.
import {columnOf, drawnTableOf} from './data.js';
import {human} from './units.js';

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    page: of('page'), ink: of('ink'), faint: of('faint'), line: of('line'), alert: of('alert'), box: of('box'),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => of(`series-${i}`)),
  };
}

const kBottom = 52;  // the x axis and its name
const kMarkHeight = 13;
const kNameHeight = 15;
const kNarrow = 480;
// No double quotes, because ECharts writes the font unescaped into an attribute of its SVG.
const kFont = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

function axisName(axis) {
  if (axis.label === '') return axis.unit;
  const inTicks = axis.unit === '' || axis.unit === 'B' || axis.unit === 'B/s';
  return inTicks ? axis.label : `${axis.label} (${axis.unit})`;
}

function tick(value, unit, digits) {
  const rounded = Number(value.toPrecision(10));  // a power of two from a logarithm may be slightly off
  return unit === 'B' || unit === 'B/s' ? human(rounded, unit, digits) : human(rounded, '');
}

// A value axis. For bytes it is logarithmic to base 2, so that ticks are powers of two.
function valueAxis(axis, isLog, palette, values, vertical, isBars = false) {
  const positive = values.filter((value) => Number.isFinite(value) && (!isLog || value > 0));
  const least = Math.min(...positive);
  const greatest = Math.max(...positive);
  // If all values are similar, only later digits of the ticks differ.
  const alike = greatest > least ? Math.floor(Math.log10(greatest / (greatest - least))) : 0;
  const digits = Math.min(7, alike + 3);
  const option = {
    type: isLog ? 'log' : 'value',
    name: axisName(axis),
    nameLocation: 'middle',
    nameGap: vertical ? 58 : 30,
    nameTextStyle: {color: palette.ink},
    axisLabel: {color: palette.faint, hideOverlap: true, formatter: (value) => tick(value, axis.unit, digits)},
    axisLine: {show: true, lineStyle: {color: palette.faint}},
    splitLine: {lineStyle: {color: palette.line, opacity: 0.7}},
    axisPointer: {label: {formatter: (pointer) => human(pointer.value, axis.unit)}},
  };
  if (positive.length === 0) return option;
  if (isLog) {
    // ECharts puts a tick at each power of the base up to ten powers, then at every tenth power.
    const octaves = Math.log2(greatest / least);
    const fewDecades = greatest < 100 * least;  // powers of ten would give one or two ticks
    option.logBase = axis.unit === 'B' || fewDecades ? 2 ** Math.max(1, Math.ceil(octaves / 8)) : 10;
    // A bar of one must have a height, and the first and last bars need their width.
    const room = !isBars ? 1 : vertical ? 2 : 1.05;
    option.min = least / room;
    if (isBars && vertical) option.startValue = option.min;  // base of the bars, which ECharts puts at one
    option.max = greatest > least ? greatest * (vertical ? 1 : room) : least * 2;
    // Label the ends, too. If there are enough ticks, a label close to that of a power would cover it.
    const isPower = (value) => Math.abs(Math.log(value) / Math.log(option.logBase) % 1) < 1e-6;
    if (vertical && octaves >= 2 * Math.log2(option.logBase)) {
      Object.assign(option.axisLabel, {showMinLabel: isPower(option.min), showMaxLabel: isPower(option.max)});
    }
  } else {
    if (axis.unit === 'B' && greatest >= 64) {
      option.interval = 2 ** Math.round(Math.log2(greatest / 6));
      option.max = Math.ceil(greatest / option.interval) * option.interval;  // otherwise the axis ends at an odd number
    }
    // Values far from zero would be a flat line on an axis from zero (kStartsAtNothing in src/report/drawing/chart.h).
    if (!isBars && (least >= 0.4 * greatest || least < 0)) option.scale = true;
    else option.min = 0;
  }
  return option;
}

// Puts a few words on each line, so that the names of marks fit beside a plot.
function nameLines(label, width) {
  const most = width < kNarrow ? 12 : 20;
  const lines = [];
  for (const word of label.split(' ')) {
    if (lines.length > 0 && lines.at(-1).length + 1 + word.length <= most) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
}

// The names of more marks would leave no room in a narrow plot; the caption has them.
function hasNames(chart, width) {
  const kMostNames = 8;
  return width >= kNarrow || chart.marks.length <= kMostNames;
}

// Right margin of the plot, for the names of horizontal marks.
function rightMargin(charts, width) {
  const lines = charts.filter((chart) => hasNames(chart, width)).flatMap(({marks}) => marks.filter((mark) => mark.across).flatMap((mark) => nameLines(mark.label, width)));
  return Math.max(24, ...lines.map((line) => 14 + 7 * line.length));
}

// The names of marks are outside the samples: those of vertical marks above the plot, those of horizontal ones on its
// right. `shifts` are their distances from their lines, by the index of the mark in the chart.
function markLines(chart, palette, width, shifts = new Map()) {
  const data = [];
  const bands = [];
  // Names are stacked in the order of the marks, so that none covers another.
  const order = chart.marks.filter((mark) => !mark.across).sort((a, b) => b.value - a.value);
  for (const [index, mark] of chart.marks.entries()) {
    const key = mark.across ? 'yAxis' : 'xAxis';
    const unit = mark.across ? chart.y.unit : chart.x.unit;
    data.push({
      [key]: mark.value,
      name: `${mark.label}: ${human(mark.value, unit)}`,
      lineStyle: {color: mark.main ? palette.alert : palette.faint, type: mark.main ? 'solid' : 'dashed', width: mark.main ? 2 : 1},
      label: {
        show: hasNames(chart, width), color: mark.main ? palette.alert : palette.faint, rotate: 0, position: 'end', offset: shifts.get(index) || [0, 0],
        ...(mark.across ? {
          formatter: () => nameLines(mark.label, width).join('\n'), distance: 6, lineHeight: kNameHeight, align: 'left',
        } : {formatter: () => mark.label, distance: 3 + kMarkHeight * order.indexOf(mark)}),
      },
    });
    if (mark.low !== null && mark.high !== null && mark.high > mark.low) {
      bands.push([{[key]: mark.low, itemStyle: {color: palette.alert, opacity: 0.14}}, {[key]: mark.high}]);
    }
  }
  return {
    markLine: {data, symbol: 'none', animation: false, emphasis: {disabled: true}, tooltip: {formatter: (item) => escapeText(item.name)}},
    markArea: {data: bands, silent: true, animation: false},
  };
}

// Moves the names of marks to free places in the current view of `instance`: those of horizontal marks apart if their
// lines are close, those above the plot away from its ends.
export function placeNames(instance, chart) {
  if (chart.marks.length === 0) return;
  const [width, height] = [instance.getWidth(), instance.getHeight()];
  const shifts = new Map();
  const across = [];
  for (const [index, mark] of chart.marks.entries()) {
    if (mark.across) {
      across.push([index, mark, instance.convertToPixel({yAxisIndex: 0}, mark.value)]);
    } else {
      const x = instance.convertToPixel({xAxisIndex: 0}, mark.value);
      const half = Math.min(7 * mark.label.length, width) / 2;
      shifts.set(index, [Math.min(Math.max(x, half), width - half) - x, 0]);
    }
  }
  let free = height - kBottom + 2;  // above the axis, so that no name covers it
  for (const [index, mark, y] of across.sort((a, b) => b[2] - a[2])) {
    const half = kNameHeight * nameLines(mark.label, width).length / 2;
    const middle = Math.min(y, free - half);
    shifts.set(index, [0, middle - y]);
    free = middle - half;
  }
  const [first] = instance.getOption().series;
  instance.setOption({series: [{name: first.name, markLine: markLines(chart, colours(), width, shifts).markLine}]});
}

const kRoom = 'room';
const kMostDots = 200;

// ECharts scales axes to its series, but not to marks or to charts beside this one. Invisible points include those.
function room(xs, ys) {
  const finite = (values) => values.filter((value) => Number.isFinite(value));
  const [x, y] = [finite(xs), finite(ys)];
  if (x.length === 0 || y.length === 0) return [];
  return [{
    name: kRoom, type: 'scatter', data: [[Math.min(...x), Math.min(...y)], [Math.max(...x), Math.max(...y)]], symbolSize: 0,
    silent: true, animation: false, tooltip: {show: false}, legendHoverLink: false,
  }];
}

function rowsOf(table, series) {
  const rows = [];
  const count = table.data[0].length;
  for (let r = 0; r < count; ++r) {
    if (series.where.every(([name, value]) => columnOf(table, name)[r] === value)) rows.push(r);
  }
  return rows;
}

const kMean = 'mean';
const kMostListed = 6;  // latencies at one footprint

// The mean of the samples at each x: the usual line of a latency sweep.
function weightedMean(xs, ys, weights) {
  const sums = new Map();
  for (let r = 0; r < xs.length; ++r) {
    const sum = sums.get(xs[r]) || [0, 0];
    sum[0] += ys[r] * weights[r];
    sum[1] += weights[r];
    sums.set(xs[r], sum);
  }
  return [...sums].sort((a, b) => a[0] - b[0]).map(([x, [sum, weight]]) => [x, sum / weight]);
}

function densitySeries(chart, table, palette) {
  const xs = columnOf(table, chart.x.column);
  const ys = columnOf(table, chart.y.column);
  const weights = columnOf(table, chart.weight.column);
  const totals = new Map();
  xs.forEach((x, r) => totals.set(x, (totals.get(x) || 0) + weights[r]));
  return [
    {
      name: chart.weight.label, type: 'scatter', symbol: 'rect', symbolSize: [6, 4], large: false, animation: false,
      data: xs.map((x, r) => ({
        value: [x, ys[r], weights[r]],
        itemStyle: {color: palette.series[0], opacity: 0.15 + 0.85 * Math.sqrt(weights[r] / totals.get(x))},
      })),
    },
    {
      name: kMean, type: 'line', data: weightedMean(xs, ys, weights), showSymbol: false, animation: false,
      lineStyle: {color: palette.series[1], width: 2}, itemStyle: {color: palette.series[1]},
    },
  ];
}

function labelWidth(values, axis) {
  return 12 + 7 * Math.max(...values.map((value) => tick(value, axis.unit).length));
}

// Rows grouped by similarity have numbers in no order, which would be useless as ticks.
function goesOneWay(values) {
  const steps = values.slice(1).map((value, index) => Math.sign(value - values[index]));
  return steps.every((step) => step > 0) || steps.every((step) => step < 0);
}

function legendRows(names, width) {
  let [rows, x] = [1, 0];
  for (const name of names) {
    const own = 45 + 7 * name.length;  // including its symbol
    if (x > 0 && x + own > width - 20) [rows, x] = [rows + 1, 0];
    x += own;
  }
  return rows;
}

function mapOption(chart, table, palette, base, {width, height}) {
  const xs = columnOf(table, chart.x.column);
  const ys = columnOf(table, chart.y.column);
  const values = columnOf(table, chart.weight.column);
  // In the order of the table, where neighbors belong together.
  const across = [...new Set(xs)];
  const down = [...new Set(ys)];
  const xIndex = new Map(across.map((value, index) => [value, index]));
  const yIndex = new Map(down.map((value, index) => [value, index]));
  const finite = values.filter((value) => value !== null);
  const isPart = chart.weight.unit === '' ? [0, 1] : [];
  // A color bar beside a narrow map would take a third of its width, so it goes below.
  const isNarrow = width < kNarrow;
  const grid = isNarrow ? {left: 62, right: 16, top: 16, bottom: 98} : {left: 82, right: 130, top: 24, bottom: 54};
  const plotWidth = width - grid.left - grid.right;
  const plotHeight = height - grid.top - grid.bottom;
  const kLineHeight = 20;
  const category = (axis, data, vertical) => ({
    type: 'category', data: data.map((value) => tick(value, axis.unit)), nameLocation: 'middle',
    name: axisName(axis) + (goesOneWay(data) ? '' : ', grouped by similarity'),
    nameGap: vertical ? (isNarrow ? 44 : 62) : 30, nameTextStyle: {color: palette.ink},
    // Skips labels so that each has room for its line.
    axisLabel: {
      color: palette.faint, show: goesOneWay(data),
      interval: Math.ceil(data.length / Math.max(2, vertical ? plotHeight / kLineHeight : plotWidth / labelWidth(data, axis))) - 1,
    },
    splitArea: {show: false},
  });
  return {
    ...base,
    grid,
    tooltip: {
      ...base.tooltip, trigger: 'item',
      formatter: ({value}) => escapeText(
          `${chart.x.label} ${human(across[value[0]], chart.x.unit)}, ${chart.y.label} ${human(down[value[1]], chart.y.unit)}: ` +
          human(value[2], chart.weight.unit)),
    },
    xAxis: category(chart.x, across, false),
    yAxis: category(chart.y, down, true),
    visualMap: {
      // Parts range from 0 to 1, so that noise has one color.
      min: Math.min(...finite, ...isPart), max: Math.max(...finite, ...isPart), calculable: true,
      ...(isNarrow ? {orient: 'horizontal', left: 'center', bottom: 0, itemWidth: 12, itemHeight: 110} : {orient: 'vertical', right: 4, top: 'middle'}),
      textStyle: {color: palette.faint}, formatter: (value) => human(value, chart.weight.unit),
      // Viridis: even in lightness, and distinguishable for color-blind readers.
      inRange: {color: ['#440154', '#3b528b', '#21918c', '#5ec962', '#fde725']},
    },
    series: [{
      type: 'heatmap', animation: false, progressive: 0,
      data: xs.map((x, r) => [xIndex.get(x), yIndex.get(ys[r]), values[r] === null ? '-' : values[r]]),
    }],
  };
}

// The numbers of a chart along its axes, including horizontal marks.
function numbersOf(chart) {
  const table = drawnTableOf(chart);
  const columns = chart.plot === 'density' ? [chart.y.column] : chart.series.map((one) => one.column);
  return {
    x: columnOf(table, chart.x.column),
    // A theoretical peak may lie above all samples.
    y: [...columns.flatMap((name) => columnOf(table, name)), ...chart.marks.filter((mark) => mark.across).map((mark) => mark.value)],
  };
}

// The option of an exported plot, with its title and GPU above it.
export const kTitleHeight = 46;
export function titled(option, title, device, {width}) {
  const {ink, faint} = colours();
  const room = {width: width - 16, overflow: 'truncate'};
  option.title = {
    text: title, subtext: device, left: 8, top: 4, itemGap: 8, textStyle: {color: ink, fontSize: 14, ...room}, subtextStyle: {color: faint, ...room},
  };
  option.grid.top += kTitleHeight;
  if (option.legend) option.legend.top += kTitleHeight;
  return option;
}

// `log` is {x, y}, the reader's choice; `size` is {width, height} of the plot in pixels. The axes have room for all of
// `peers`, the charts beside this one.
export function optionOf(chart, log, size, peers = [chart]) {
  const palette = colours();
  const table = drawnTableOf(chart);
  const base = {
    backgroundColor: palette.page,
    animation: false,
    textStyle: {color: palette.ink, fontFamily: kFont},
    grid: {left: 82, right: rightMargin(peers, size.width), top: 28 + (hasNames(chart, size.width) ? kMarkHeight * chart.marks.filter((mark) => !mark.across).length : 0), bottom: kBottom},
    tooltip: {
      trigger: 'axis', axisPointer: {type: 'cross'}, confine: true, backgroundColor: palette.box, borderColor: palette.line,
      textStyle: {color: palette.ink, fontSize: 12},
    },
    dataZoom: [
      {type: 'inside', xAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true},
      {type: 'inside', yAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: 'shift', moveOnMouseMove: true},
    ],
  };
  if (chart.plot === 'map') return mapOption(chart, table, palette, base, size);

  const xs = columnOf(table, chart.x.column);
  const all = peers.map(numbersOf);
  const allX = all.flatMap(({x}) => x);
  const allY = all.flatMap(({y}) => y);
  let series;
  if (chart.plot === 'density') {
    series = densitySeries(chart, table, palette);
    base.tooltip.formatter = (items) => {
      const points = items.filter((item) => item.seriesName === chart.weight.label).sort((a, b) => b.value[2] - a.value[2]);
      const mean = items.find((item) => item.seriesName === kMean);
      return tooltip(items, chart, [
        ...(mean ? [`${kMean}: ${human(mean.value[1], chart.y.unit)}`] : []),
        ...points.slice(0, kMostListed).map(({value}) => `${human(value[1], chart.y.unit)}: ${value[2]} ${chart.weight.label}`),
        ...(points.length > kMostListed ? [`and ${points.length - kMostListed} more`] : []),
      ]);
    };
  } else {
    const isBars = chart.plot === 'bars';
    series = chart.series.map((one, index) => {
      const column = columnOf(table, one.column);
      const points = rowsOf(table, one).map((r) => [xs[r], column[r]]);
      if (chart.plot === 'line') points.sort((a, b) => a[0] - b[0]);
      const colour = palette.series[index % palette.series.length];
      return {
        name: one.label || chart.y.label, type: isBars ? 'bar' : chart.plot === 'points' ? 'scatter' : 'line', data: points, animation: false,
        barWidth: isBars ? Math.max(1.5, Math.min(14, 400 / points.length)) : undefined,
        showSymbol: points.length <= kMostDots, symbol: 'circle', symbolSize: 5, itemStyle: {color: colour}, lineStyle: {color: colour, width: 1.5},
      };
    });
    base.tooltip.formatter = (items) => tooltip(
        items, chart, items.filter((item) => item.seriesName !== kRoom).map((item) => `${item.seriesName}: ${human(item.value[1], chart.y.unit)}`));
    if (series.length > 1) {
      if (chart.marks.some((mark) => mark.across)) base.grid.top += kNameHeight;  // the top name may exceed the plot
      const names = series.map((one) => one.name);
      const kLegendRow = 22;
      base.grid.top += kLegendRow * (legendRows(names, size.width) - 1);
      base.legend = {top: 2, type: 'plain', textStyle: {color: palette.ink}, data: names};
    }
  }
  Object.assign(series[0], markLines(chart, palette, size.width));
  return {
    ...base,
    xAxis: valueAxis(chart.x, log.x, palette, allX, false, chart.plot === 'bars'),
    yAxis: valueAxis(chart.y, log.y, palette, allY, true, chart.plot === 'bars'),
    series: [...series, ...room(peers.length > 1 ? allX : xs, allY)],
  };
}

function tooltip(items, chart, lines) {
  return [human(items[0].value[0], chart.x.unit), ...lines].map(escapeText).join('<br>');
}

// Tooltips are HTML, but names of columns and of marks come from a file.
function escapeText(text) {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
