// Numbers with units, as src/report/words/units.cpp writes them.
function significant(value, digits) {
  return String(Number((value * (1 + 1e-14)).toPrecision(digits)));  // rounds halves up, like the C++ code
}

function scaled(value, step, units) {
  let i = 0;
  while (i + 1 < units.length && Math.abs(value) >= step * (1 - 0.5e-4)) {
    value /= step;
    ++i;
  }
  return [value, units[i]];
}

// `digits` applies to bandwidths, for values that three digits would make equal.
export function human(value, unit, digits = 3) {
  if (value === null || !Number.isFinite(value)) return '-';
  if (unit === 'B') {
    if (Math.abs(value) < 4096 && value % 1024 !== 0) return `${significant(value, 4)} B`;
    const [number, name] = scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
    return `${significant(number, 4)} ${name}`;
  }
  if (unit === 'B/s') {
    const [number, name] = scaled(value, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']);
    return `${significant(number, digits)} ${name}`;
  }
  const text = Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : significant(value, 4);
  return unit ? `${text} ${unit}` : text;
}
