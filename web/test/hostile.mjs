// Documents with hostile texts in every field, as every kind of page and drawing. None of their scripts may run, and no
// element or attribute may come from them. Each is opened as readers open it, and without its Content-Security-Policy,
// which would hide that a text has become markup.
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {close, download, drawsOneOfAKind, folder, once, openFile, reports, run, test} from './harness.mjs';

// A script that runs sets a mark, and text that becomes markup has a unique name.
const kTexts = {
  markup: 'zz <script>evil()</script><img src=x onerror=evil()><svg onload=evil()><gtx-evil gtx-evil=1></gtx-evil>' +
      '</title><script>evil()</script></text></style></script></svg>]]>--><gtx-evil/>&lt;gtx-evil&gt;&lt;img src=x onerror=evil()&gt;',
  attributes: 'zz" onmouseover="evil()" onfocus="evil()" autofocus="" gtx-evil="1 \' onmouseover=\'evil()\' gtx-evil=\'1 ' +
      'onclick=evil() `${evil()}` {{evil()}} \\u003cscript>evil()\\u003c/script> \\"};evil();//',
  addresses: 'javascript:evil()//data:text/html,<gtx-evil>*/evil()/*#" href="javascript:evil()" style="background:url(javascript:evil())',
};

// Replaces texts by the name of their field. Many things have names, so for `name` the field of the holder counts, too.
function replaceTexts(json, fields, text) {
  let number = 0;
  const walk = (value, field, holder) => {
    if (typeof value === 'string') {
      const own = field === 'name' ? `${holder}.name` : field;
      if (!fields.has(own)) return value;
      return `${field === 'generator' ? 'gputopo ' : ''}${text} ${number++}`;  // identifies report files
    }
    if (Array.isArray(value)) return value.map((item) => walk(item, `${field}[]`, holder));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, name, field)]));
  };
  return walk(json, '', '');
}

function fieldsOf(json) {
  const fields = new Set();
  const walk = (value, field, holder) => {
    if (typeof value === 'string') fields.add(field === 'name' ? `${holder}.name` : field);
    else if (Array.isArray(value)) value.forEach((item) => walk(item, `${field}[]`, holder));
    else if (value !== null && typeof value === 'object') Object.entries(value).forEach(([name, item]) => walk(item, name, field));
  };
  walk(json, '', '');
  return fields;
}

// The fields that may hold such texts, tried all at once; others hold dates, the names of sources and so on.
function freeFields(kind, json, args) {
  return once(`fields of ${kind}`, async () => {
    const free = new Set();
    const path = join(folder, `fields-${kind}.json`);
    for (const field of fieldsOf(json)) {
      free.add(field);
      writeFileSync(path, JSON.stringify(replaceTexts(json, free, kTexts.markup)));
      await run(args(path)).catch(() => free.delete(field));
    }
    return free;
  });
}

const told = (value, unit) => ({value, unit, low: null, high: null, source: 'api', method: '', conditions: {}, details: {}, flags: []});
const saved = (name) => JSON.parse(readFileSync(join(reports, `${name}.json`), 'utf8'));

// Plots of each kind.
const kDrawn = new Set(['l1.size', 'l2.latency', 'l2.near_sms', 'l2.loaded_latency', 'l2.read_bandwidth', 'tlb_l1.reach']);

// A report with few samples, which is fast to read and draw. `onlyDrawn` omits attributes without a plot, except those
// in the drawing of the chip.
function smallReport(onlyDrawn = false) {
  const report = saved('h200');
  const kept = new Set(['title', 'size', 'latency', 'read_bandwidth', 'shared_with', 'amount']);
  for (const [id, element] of Object.entries(report.memory)) {
    for (const [name, attribute] of Object.entries(element)) {
      if (onlyDrawn && !kDrawn.has(`${id}.${name}`) && !kept.has(name)) delete element[name];
      if (!kDrawn.has(`${id}.${name}`)) delete attribute.samples;
      for (const table of attribute.samples ?? []) table.data = table.data.map((column) => column.slice(0, 60));
    }
  }
  report.warnings = ['a'];
  // The values that the model of a kernel needs, and operations.
  report.memory.registers = {title: 'Registers', register_allocation_unit: told(256, ''), shared_allocation_unit: told(128, 'B'), resident_warps: told(64, ''),
                             resident_blocks: told(32, ''), schedulers: told(4, '')};
  report.memory.peaks = {title: 'Peaks', f32: told(6.69e13, 'FLOP/s')};
  report.compute.instructions = {'fma.f32': {title: 'Fused multiply-add', latency: told(4, 'cycles'), throughput: told(128, 'ops/clk')}};
  report.compute.pipes = {...told(['fma: fma.f32 add.f32', 'alu: min.f32'], ''), details: {operations: ['fma.f32', 'add.f32', 'min.f32']}, samples: [{
    name: 'compute.pipes.map', plot: 'map',
    columns: [{name: 'first', role: 'axis', quantity: 'first', unit: ''}, {name: 'second', role: 'axis', quantity: 'second', unit: ''},
              {name: 'part', role: 'value', quantity: 'part', unit: ''}],
    data: [[0, 0, 1], [1, 2, 2], [1, 0.1, 0.2]],
  }]};
  return report;
}

// `kept`: fields whose texts determine what is drawn.
async function hostileReport(text, kept = []) {
  const report = smallReport(kept.length > 0);
  const free = await freeFields('report', smallReport(), (path) => ['show', path, '--csv', '-']);
  for (const field of ['device.name', 'generator', 'unit', 'method', 'detail', 'quantity', 'columns[].name']) assert.ok(free.has(field), field);
  const hostile = replaceTexts(report, new Set([...free].filter((field) => !kept.includes(field))), text);
  // The names within a report are texts as well.
  for (const element of Object.values(hostile.memory)) {
    for (const attribute of Object.values(element)) {
      if (!attribute.value) continue;
      Object.assign(attribute.details, {[`${text} detail`]: text, [`${text} list`]: [text, text]});
      attribute.conditions[`${text} condition`] = text;
      attribute.flags.push(text);
    }
    element[`${text} attribute`] = structuredClone(element.size ?? element.latency);
    if (!element[`${text} attribute`]) delete element[`${text} attribute`];
  }
  hostile.memory[`${text} element`] = structuredClone(hostile.memory.l2);
  hostile.compute.instructions[`${text} operation`] = structuredClone(hostile.compute.instructions['fma.f32']);
  for (const group of [hostile.device, hostile.compute]) group[`${text} attribute`] = told(text, text);
  return hostile;
}

async function hostileNode(text) {
  const node = saved('h100x2');
  Object.assign(node, {name: 'a', warnings: ['a']});
  node.host.name = 'a';
  node.gpus[0].report = smallReport();
  node.gpus[1].failure = 'a';
  node.links[0].attributes.load_latency = {value: null, unit: '', source: 'unavailable', reason: 'device_error', detail: 'a'};
  node.together.ring.attributes.min_rate_fraction.details.sharing_pairs = ['a', 'b'];
  const free = await freeFields('node', node, (path) => ['show', path, '--json', '-']);
  for (const field of ['unit', 'title', 'host.name', 'gpus[].name', 'failure', 'kind', 'warnings[]']) assert.ok(free.has(field), field);
  return replaceTexts(node, free, text);
}

// ---- pages and drawings: each writes files and returns their paths ----

const write = (name, json) => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(json));
  return path;
};
// A file name that is as hostile as file names can be.
const hostileName = (text) => text.replaceAll('/', '\u2215').slice(0, 150);

const kinds = {
  report: async (name, text) => {
    const files = [];
    for (const [variant, kept] of [['all', []], ['drawn', ['unit', 'columns[].name', 'quantity']]]) {
      const base = join(folder, `${name}-${variant}`);
      const report = write(`${name}-${variant}.json`, await hostileReport(text, kept));
      files.push(`${base}.html`, `${base}.svg`, `${base}.curve.svg`, `${base}.hwloc.xml`);
      const [html, svg, curve, hwloc] = files.slice(-4);
      await run(['show', report, '--html', html, '--svg', svg, '--curve', curve, '--hwloc-xml', hwloc]);
    }
    return files;
  },
  diff: async (name, text) => {
    const [one, other] = [await hostileReport(text, ['unit', 'columns[].name']), await hostileReport(text, ['unit', 'columns[].name'])];
    for (const element of Object.values(other.memory)) {
      for (const attribute of Object.values(element)) {
        if (typeof attribute.value === 'number') for (const key of ['value', 'low', 'high']) attribute[key] &&= attribute[key] * 2;
        else if (typeof attribute.value === 'string') attribute.value += ' other';
      }
    }
    const paths = [one, other, one].map((report, index) => write(`${name}-${index}-${hostileName(text)}.json`, report));
    const html = join(folder, `${name}.html`);
    await run(['diff', ...paths, '--html', html], [1]);
    return [html];
  },
  node: async (name, text) => {
    const [html, svg] = ['html', 'svg'].map((ending) => join(folder, `${name}.${ending}`));
    await run(['show', write(`${name}.json`, await hostileNode(text)), '--html', html, '--svg', svg]);
    return [html, svg];
  },
  fleet: async (name, text) => {
    const [store, html] = [join(folder, `${name}.db`), join(folder, `${name}.html`)];
    const report = await hostileReport(text, ['unit']);
    const paths = Array.from({length: 10}, (_, gpu) => {
      const own = structuredClone(report);
      own.memory.l2.latency.value *= 1 + gpu / 1000;
      if (gpu === 3) {
        own.memory.l2.ways = told(7, '');
        own.memory.device.read_bandwidth.value /= 2;
      }
      own.device.pci_address = `${text} ${gpu}`;
      return write(`${name}-${gpu}-${hostileName(text)}.json`, own);
    });
    await run(['fleet', 'merge', '--out', store, ...paths]);
    await run(['fleet', 'report', store, '--html', html], [0, 1]);
    return [html];
  },
  model: async (name, text) => {
    const svg = join(folder, `${name}.svg`);
    const report = smallReport();
    Object.assign(report.device, {name: text, architecture: text});
    const kernel = {
      name: text.slice(0, 190), grid_blocks: 8192, block_threads: 256, registers_per_thread: 40, instructions: {'fma.f32': 448},
      memory: [{level: 'device', access: 'load', count: 64, bytes: 4}],
    };
    await run(['model', write(`${name}-report.json`, report), '--kernel', write(`${name}-kernel.json`, kernel), '--svg', svg]);
    return [svg];
  },
};

// ---- actions of a reader ----

// Elements and attributes that came from a text, and marks that a script has set.
function evilOf(page) {
  return page.evaluate(() => {
    const found = [...(window.evils ?? [])];
    for (const element of document.querySelectorAll('*')) {
      const name = element.localName.toLowerCase();
      const loads = ['img', 'iframe', 'object', 'embed', 'base', 'link', 'foreignobject'].includes(name);
      const isPage = /xhtml|svg/.test(element.namespaceURI);  // hwloc has its own objects
      if (name.includes('evil') || (loads && isPage)) found.push(`<${name}>`);
      if (name === 'script' && !element.type && !element.textContent.startsWith('/*! Contains Apache ECharts')) found.push(`script: ${element.textContent.slice(0, 80)}`);
      for (const {name: attribute, value} of element.attributes) {
        if (/^on|evil/i.test(attribute)) found.push(`<${name} ${attribute}>`);
        if (/href$|^src/.test(attribute) && !value.startsWith('#')) found.push(`<${name} ${attribute}="${value.slice(0, 80)}">`);
      }
    }
    return found;
  });
}

// The elements and attributes of an exported drawing, parsed as a document.
const evilOfSvg = (page, svg) => page.evaluate((text) => {
  const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
  return [...drawing.querySelectorAll('*')].flatMap((element) => [element.localName, ...element.getAttributeNames()])
      .filter((name) => /^on|evil|script|parsererror/i.test(name));
}, svg);

async function uses(page) {
  await drawsOneOfAKind(page);
  const figures = await page.locator('figure.chart').all();
  const plots = await page.evaluate(() => JSON.parse(document.getElementById('charts').textContent).map(({plot}) => plot));
  // Tooltips are HTML. Tests one plot of each kind, and its samples as a table.
  for (const [index, plot] of plots.entries()) {
    if (plots.indexOf(plot) !== index) continue;
    const place = figures[index].locator('.plot');
    await place.scrollIntoViewIfNeeded();
    const {x, y, width, height} = await place.boundingBox();
    for (const part of [0.2, 0.4, 0.6, 0.8]) await page.mouse.move(x + width * part, y + height / 2);
    await figures[index].locator('details.samples').evaluate((element) => element.open = true);
    const {content} = await download(page, () => figures[index].getByRole('button', {name: /^SVG/}).click());
    assert.deepEqual(await evilOfSvg(page, content.toString()), [], plot);
  }
  const parts = page.locator('.chip .part');
  for (let index = 0; index < await parts.count(); ++index) await parts.nth(index).focus();
  const saves = page.getByRole('button', {name: 'SVG: Save the drawing as SVG'});
  if (await saves.count() > 0) {
    const {content} = await download(page, () => saves.click());
    assert.deepEqual(await evilOfSvg(page, content.toString()), [], 'the drawing');
    // A drawing printed alone is written as text again.
    await page.evaluate(() => { window.HTMLIFrameElement.prototype.remove = () => {}; });
    await page.getByRole('button', {name: /^PDF/}).click();
    const frame = await page.waitForSelector('iframe.sheet', {state: 'attached'});
    const sheet = await frame.contentFrame();
    await sheet.waitForSelector('svg');
    assert.deepEqual(await evilOf(sheet), [], 'the sheet');
    await frame.evaluate((element) => element.replaceWith());
  }
  if (await page.locator('#filter-text').isVisible()) await page.fill('#filter-text', 'evil');
}

async function isHarmless(file, bypassCSP, isUsed) {
  const page = await openFile(file, {bypassCSP}, (page) => page.addInitScript(() => {
    window.evils = [];
    window.evil = () => window.evils.push('a script ran');
    window.print = () => {};
  }));
  assert.ok((await page.content()).includes('evil'), 'the texts are in it');
  assert.deepEqual(await evilOf(page), [], file);
  if (await page.locator('script#charts').count() > 0) {
    await page.waitForSelector('html[data-ready=yes]');
    if (isUsed) await uses(page);
    assert.deepEqual(await evilOf(page), [], `${file}, in use`);
  }
  await close(page);
}

for (const [kind, make] of Object.entries(kinds)) {
  for (const [which, text] of Object.entries(kTexts)) {
    test(`hostile texts: ${kind}, ${which}`, async () => {
      for (const file of await make(`hostile-${kind}-${which}`, text)) {
        // The policy does not change how a page treats its texts, and drawings have none. An address must already be one
        // when the page opens.
        for (const bypassCSP of file.endsWith('.html') ? [false, true] : [true]) {
          await isHarmless(file, bypassCSP, bypassCSP && which !== 'addresses');
        }
      }
    });
  }
}

// The test detects what it looks for, and the policy stops a script that is in a page nevertheless.
test('hostile texts would be seen', async () => {
  const path = join(folder, 'open.html');
  await run(['show', join(reports, 'gt200.json'), '--html', path]);
  writeFileSync(path, readFileSync(path, 'utf8').replace('</h1>', `</h1>${kTexts.markup}`));
  for (const bypassCSP of [false, true]) {
    const page = await openFile(path, {bypassCSP}, (page) => page.addInitScript(() => {
      window.evils = [];
      window.evil = () => window.evils.push('a script ran');
    }));
    await page.waitForSelector('html[data-ready=yes]');
    const found = await evilOf(page);
    assert.ok(found.includes('<gtx-evil>') && found.includes('<img onerror>'), found.join());
    assert.equal(found.includes('a script ran'), bypassCSP);
    assert.equal(page.problems.some((problem) => problem.includes('Content Security Policy')), !bypassCSP, page.problems.join('\n'));
    await page.context().close();
  }
});
