// Files for the reader to save.
export function save(name, type, content) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function field(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(rows) {
  return rows.map((row) => row.map((cell) => field(String(cell ?? ''))).join(',') + '\r\n').join('');
}

// Draws an SVG at twice its size, so that it is sharp on paper.
export function savePng(name, svg, width, height) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = width * 2;
    canvas.height = height * 2;
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, 'image/png', blob), 'image/png');
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

// A drawing alone on a sheet of its size. "Save as PDF" in the print dialog keeps its lines and text.
function sheet(name, svg, width, height) {
  return `<!doctype html><meta charset="utf-8"><title>${name}</title><style>@page{size:${width}px ${height}px;margin:0}` +
      `html,body{margin:0}svg{display:block;width:${width}px;height:${height}px;print-color-adjust:exact}</style>${svg}`;
}

export function printAlone(name, svg, width, height) {
  const frame = Object.assign(document.createElement('iframe'), {srcdoc: sheet(name, svg, width, height), className: 'sheet'});
  frame.setAttribute('aria-hidden', 'true');
  frame.tabIndex = -1;
  frame.addEventListener('load', () => {
    const {contentWindow} = frame;
    contentWindow.addEventListener('afterprint', () => frame.remove());
    contentWindow.focus();
    contentWindow.print();
  });
  document.body.append(frame);
}
