// Uses HTML reports in a real Chromium as a reader would: browser.mjs GPUTOPO REPORTS-FOLDER [SCREENSHOT-FOLDER]. With
// a folder for screenshots, it also writes those of docs/screenshots.
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {close, download, drawsEverything, drawsOneOfAKind, drawsPlots, folder, newPage, once, open, openAll, reports, run, runTests,
        screenshots, test, until} from './harness.mjs';
import './hostile.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// Makes the report of a GPU for which none is stored.
function reportOf(name) {
  if (name !== 'a100') return join(reports, `${name}.json`);
  const path = join(folder, `${name}.json`);
  return once(path, async () => {
    await run(['--device', `sim:${name}`, '--full', '--quiet', '--budget', '3600', '--json', path]);
    return path;
  });
}

function render(name, json) {
  const path = join(folder, `${name}.html`);
  return once(path, async () => {
    await run(['show', json ?? await reportOf(name), '--html', path]);
    return path;
  });
}

// ---- the parts of a test, each on an open page ----

async function hovers(page) {
  const part = page.locator('.chip .part[data-elements~=device]');
  await part.hover();
  const panel = page.locator('#part');
  assert.match(await panel.textContent(), /latency/);
  await page.locator('.chip .part').last().focus();
  assert.match(await panel.textContent(), /size/, 'focus shows what hovering does');
}

// The links beside the drawing: Enter or a click keeps them, Escape leaves them.
async function keepsPart(page) {
  const panel = page.locator('#part');
  const part = page.locator('.chip .part').first();
  const focused = () => page.evaluate(() => document.activeElement.closest('#part') ? 'panel' : document.activeElement.getAttribute('class'));
  await part.focus();
  const text = await panel.textContent();
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'panel');
  await page.locator('.chip .part[data-elements~=device]').hover();
  assert.equal(await panel.textContent(), text, 'what is kept stays');
  await page.keyboard.press('Escape');
  assert.equal(await focused(), 'part');
  await page.locator('.chip .part[data-elements~=device]').click();
  await page.locator('.chip .part').first().hover();
  assert.match(await panel.textContent(), /Device memory/);
  await panel.locator('a').first().click();
  assert.match(page.url(), /#evidence-device-/);
}

async function filters(page, json) {
  const csv = (await run(['show', json, '--csv', '-'])).split('\r\n');
  const visible = () => page.locator('#values tbody tr:not([hidden])').count();
  const all = await visible();
  await page.fill('#filter-text', 'latency');
  const some = await visible();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  await page.selectOption('#filter-source', 'measured');
  assert.ok(await visible() <= some);
  assert.match(await page.locator('#filter-count').textContent(), new RegExp(`^${await visible()} of ${all} values$`));
  const {name, content} = await download(page, () => page.click('#export-values'));
  assert.match(name, /\.csv$/);
  // The lines of --csv, including numbers without prefixes.
  const lines = content.toString().trim().split('\r\n');
  assert.equal(lines.length, await visible() + 1);
  const all_lines = new Set(csv);
  assert.deepEqual(lines.filter((line) => !all_lines.has(line)), []);
  assert.ok(lines.some((line) => /^[^,]+,latency,[\d.]+,[\d.]+,[\d.]+,cycles,measured$/.test(line)), lines.slice(0, 5).join('\n'));
  await page.selectOption('#filter-source', '');
  // The path of `gputopo get` and CSV finds a value, and longer paths such as 'icache_l2.latency'.
  await page.fill('#filter-text', 'l2.latency');
  const paths = await page.locator('#values tbody tr:not([hidden])').evaluateAll((rows) => rows.map((row) => row.dataset.path));
  assert.ok(paths.includes('l2.latency') && paths.every((path) => path.includes('l2.latency')), paths.join());
  await page.fill('#filter-text', '');
  await page.selectOption('#filter-source', '');
  assert.equal(await visible(), all);
}

async function followsEvidence(page) {
  await page.locator('#values tbody tr[data-source=measured] a').first().click();
  const id = new URL(page.url()).hash.slice(1);
  await page.locator(`details#${id}[open]`).waitFor();
}

async function plots(page) {
  await openAll(page);
  const figure = page.locator('figure.chart').first();
  await figure.scrollIntoViewIfNeeded();
  await figure.locator('.plot svg, .plot canvas').first().waitFor();
  const picture = () => figure.locator('.plot').innerHTML();
  const before = await picture();
  await figure.getByRole('button', {name: /^Zoom in/}).click();
  const zoomed = await until(picture, (now) => now !== before, 'zooming changes the plot');
  // A change of the theme keeps the zoom.
  await page.click('#theme');
  await until(picture, (now) => now !== zoomed, 'another theme has other colours');
  await page.click('#theme');
  await until(picture, (now) => now === zoomed, 'another theme is no other zoom');
  await figure.getByRole('button', {name: /^Reset/}).click();
  const plot = figure.locator('.plot');
  await plot.focus();
  await page.keyboard.press('+');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('0');
  const toggle = figure.getByRole('button', {name: /^log x/});
  if (await toggle.count()) {
    const pressed = await toggle.getAttribute('aria-pressed');
    await toggle.click();
    assert.notEqual(await toggle.getAttribute('aria-pressed'), pressed);
    await toggle.click();
  }
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const svg = await download(page, () => figure.getByRole('button', {name: /^SVG/}).click());
  assert.match(svg.content.toString(), /^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  const wellFormed = await page.evaluate(
      (text) => !new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror'), svg.content.toString());
  assert.ok(wellFormed, 'the exported SVG is XML');
  const name = await page.evaluate(() => JSON.parse(document.getElementById('report-0').textContent).device.name);
  assert.ok(svg.content.toString().includes(name), 'what leaves the page names its GPU');
  const png = await download(page, () => figure.getByRole('button', {name: /^PNG/}).click());
  assert.equal(png.content.subarray(1, 4).toString(), 'PNG');
  const csv = await download(page, () => figure.getByRole('button', {name: /^CSV/}).click());
  assert.ok(csv.content.toString().split('\r\n').length > 3);
}

// The evidence of one value, with all its plots drawn.
async function evidence(page, id) {
  const block = page.locator(`details#evidence-${id}`);
  await block.evaluate((element) => element.open = true);
  await drawsPlots(page, `details#evidence-${id}`);
  return block;
}

async function switchesTheme(page) {
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await colour();
  await page.click('#theme');
  assert.notEqual(await colour(), before);
  await page.click('#theme');
  assert.equal(await colour(), before);
}

// Removes all but two of the blocks that consist of the same elements with the same classes and roles, because axe-core
// takes minutes for a page with hundreds of them.
async function keepsTwoOfAKind(page) {
  await page.evaluate(() => {
    const counts = new Map();
    for (const block of document.querySelectorAll('tbody tr, details.evidence')) {
      const elements = [block, ...block.querySelectorAll('*')].filter((element) => !element.closest('svg'));
      const kinds = new Set(elements.map((element) => [element.localName, element.className, element.getAttribute('role')].join('.')));
      const kind = [block.closest('table')?.id, ...[...kinds].sort()].join();
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (counts.get(kind) > 2) block.remove();
    }
  });
}

// Expects that axe-core finds no violation of `rules` (default: all) in `scope`.
async function passesAxe(page, rules, scope) {
  await page.evaluate(axe);
  const violations = await page.evaluate(async ([rules, scope]) => {
    const {violations} = await window.axe.run(scope ?? document, {resultTypes: ['violations'], ...(rules && {runOnly: rules})});
    return violations.map(({id, help, nodes}) => `${id}: ${help}: ${nodes.map(({html}) => html.slice(0, 120)).slice(0, 3).join(' ')}`);
  }, [rules, scope]);
  assert.deepEqual(violations, [], await page.evaluate(() => document.documentElement.dataset.theme));
}

// axe-core checks no contrasts within SVG. This checks each text color against each color of a box.
async function hasContrast(page) {
  const found = await page.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    const luminance = (name) => {
      const parts = style.getPropertyValue(`--${name}`).trim().match(/[0-9a-f]{2}/g).map((hex) => parseInt(hex, 16) / 255)
                        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const low = [];
    for (const text of ['ink', 'faint', 'alert', 'link']) {
      for (const below of ['page', 'box', 'near', 'far', 'memory']) {
        const [dark, light] = [luminance(text), luminance(below)].sort((a, b) => a - b);
        if ((light + 0.05) / (dark + 0.05) < 4.5) low.push(`${text} on ${below}`);
      }
    }
    return low;
  });
  assert.deepEqual(found, []);
}

// The texts for a screen reader, and the targets of the Tab key.
async function speaks(page) {
  const chip = await page.getByRole('region', {name: 'Drawing of the chip'}).ariaSnapshot();
  assert.match(chip, /group "The chip: /);
  assert.match(chip, /button "Device memory: [^"]*(B|cycles)/, chip);
  // Each value with its interval, source and method, in a row with its name.
  const row = page.getByRole('region', {name: 'Table of every value'}).getByRole('row', {name: /latency .* measured/}).first();
  assert.match(await row.ariaSnapshot(), /rowheader[^]*link[^]*\(.* to .*\)[^]*measured[^]*cell "[^"]+"/);
  for (const [role, name] of [['searchbox', 'Search'], ['combobox', 'Element'], ['combobox', 'Source']]) {
    assert.equal(await page.getByRole(role, {name, exact: true}).count(), 1, name);
  }
  // The number of values that pass the filters is announced.
  assert.match(await page.getByRole('status').textContent(), /^\d+ of \d+ values$/);
  // A plot has a name and a text that describes its content.
  const plot = page.locator('figure.chart .plot').first();
  assert.match(await plot.getAttribute('aria-label'), /\w\. Keys: /);
  const caption = page.locator(`#${await plot.getAttribute('aria-describedby')}`);
  assert.match(await caption.textContent(), /\d+ rows?, /);
  // Each part of the drawing, each link and each plot is reachable without a mouse.
  const unreachable = await page.evaluate(() => [...document.querySelectorAll('.chip .part, #values a, .plot, button')].filter(
      (element) => element.tabIndex < 0).map((element) => element.outerHTML.slice(0, 80)));
  assert.deepEqual(unreachable, []);
}

// Texts over the drawing lie within a box or between boxes, but cross no edge.
async function fitsItsBoxes(page) {
  const crossed = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll('.chip .part rect:not(.hit)')].map((rect) => rect.getBBox());
    const found = [];
    for (const text of document.querySelectorAll('.chip .names text')) {
      const {x, y, width, height} = text.getBBox();
      for (const box of boxes) {
        const meets = x < box.x + box.width && box.x < x + width && y < box.y + box.height && box.y < y + height;
        const within = x >= box.x && x + width <= box.x + box.width && y >= box.y && y + height <= box.y + box.height;
        if (meets && !within) found.push(text.textContent);
      }
      if (text.textContent.includes('\u2026')) found.push(`cut: ${text.textContent}`);
    }
    return found;
  });
  assert.deepEqual(crossed, []);
}

// Every control has a name, no id occurs twice, and every link within the page has a target.
async function isAccessible(page) {
  const problems = await page.evaluate(() => {
    const found = [];
    for (const control of document.querySelectorAll('button, select, input')) {
      if (!(control.textContent.trim() || control.labels?.length || control.getAttribute('aria-label'))) {
        found.push(`no name: ${control.outerHTML}`);
      }
    }
    const names = [...document.querySelectorAll('button, [role=application]')].map(
        (control) => control.getAttribute('aria-label') || control.textContent);
    for (const name of new Set(names)) if (names.indexOf(name) !== names.lastIndexOf(name)) found.push(`name twice: ${name}`);
    for (const plot of document.querySelectorAll('.plot')) {
      if (!document.getElementById(plot.getAttribute('aria-describedby'))?.textContent) found.push('a plot without a text');
    }
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`twice: ${id}`);
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      if (!document.getElementById(decodeURIComponent(link.getAttribute('href').slice(1)))) found.push(`no target: ${link.href}`);
    }
    for (const picture of document.querySelectorAll('[role=img]')) {
      if (!picture.getAttribute('aria-label')) found.push('a picture without a text');
    }
    return found;
  });
  assert.deepEqual(problems, []);
}

async function fitsWidths(page) {
  for (const width of [1440, 1280, 800, 390]) {
    await page.setViewportSize({width, height: 900});
    // Plots adapt to the width in a later frame.
    await until(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), (overflow) => overflow <= 0,
                `at ${width} px the page is too wide, by pixels`);
  }
}

// On a phone, the name and the value of each row are visible without scrolling.
async function showsValuesOnAPhone(page) {
  await page.setViewportSize({width: 390, height: 900});
  const cut = await page.locator('#values tbody td.number').evaluateAll((cells) => {
    const {right} = document.querySelector('#values').parentElement.getBoundingClientRect();
    return cells.filter((cell) => cell.getBoundingClientRect().right > right).map((cell) => cell.textContent);
  });
  assert.deepEqual(cut, []);
}

// ---- the tests ----

for (const name of ['h200', 'mi300x', 'gt200', 'a100']) {
  test(`${name}: reads, hovers, filters, zooms, exports`, async () => {
    const page = await open(await render(name));
    assert.equal(await page.locator('.simulated').count() > 0, name !== 'h200', 'SIMULATED where it is');
    await hovers(page);
    await keepsPart(page);
    await filters(page, await reportOf(name));
    await fitsItsBoxes(page);
    await followsEvidence(page);
    await plots(page);
    await switchesTheme(page);
    await drawsOneOfAKind(page);
    await fitsWidths(page);
    await showsValuesOnAPhone(page);
    await page.setViewportSize({width: 1280, height: 900});
    // The report with the most absent elements. The test of printing draws every plot of a measured report, and those of
    // the others are of the same kinds.
    if (name === 'gt200') await drawsEverything(page);
    await isAccessible(page);
    await speaks(page);
    if (name === 'gt200') {
      // Evidence within the block of an absent element.
      await page.locator('#values tbody tr[data-source=unavailable] a').first().click();
      await page.locator(`details#${new URL(page.url()).hash.slice(1)}[open]`).waitFor();
    }
    await close(page);
  });
}

for (const name of ['h200', 'mi300x', 'gt200', 'a100']) {
  test(`${name}: no violation that axe finds, in either theme`, async () => {
    const page = await open(await render(name));
    await drawsOneOfAKind(page);
    await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true; });
    await keepsTwoOfAKind(page);
    await passesAxe(page);
    await hasContrast(page);
    await page.click('#theme');
    await passesAxe(page, ['color-contrast']);
    await hasContrast(page);
    await close(page);
  });
}

test('latency over footprint stands behind the picture, is drawn, exported and printed', async () => {
  const page = await open(await render('h200'));
  const sections = await page.locator('main > section > h2').allTextContents();
  assert.deepEqual(sections.slice(0, 2), ['The chip', 'Latency over footprint']);
  const figure = page.locator('section:has(#h-curve) figure.chart');
  await figure.locator('.plot svg').waitFor();
  const caption = await figure.locator('figcaption').textContent();
  for (const words of ['global loads', 'L1 data cache 240.5 KiB', 'L2 cache, far 452.7 cycles', 'First-level TLB reaches 256 MiB']) {
    assert.ok(caption.includes(words), `${words} in ${caption}`);
  }
  const csv = await download(page, () => figure.getByRole('button', {name: /^CSV/}).click());
  assert.match(csv.content.toString(), /^footprint_bytes,line,latency_cycles\r\n512,0,31/);
  await page.emulateMedia({media: 'print'});
  assert.ok(await figure.locator('.plot svg').isVisible());
  await close(page);
});

// The table of operations can be filtered and exported, and the figures of compute have names.
test('what computes: figures, filters, export', async () => {
  const json = join(folder, 'operations.json');
  await run(['--device', 'sim:h200', '--full', '--only', 'instructions,pipes,peaks,control', '--budget', '3600', '--quiet', '--json', json]);
  const page = await open(await render('operations', json));
  const visible = () => page.locator('#operations tbody tr:not([hidden])').count();
  const all = await visible();
  await page.selectOption('#operation-class', 'matrix');
  const matrices = await visible();
  assert.ok(matrices > 0 && matrices < all, `${matrices} of ${all}`);
  await page.selectOption('#operation-class', '');
  await page.selectOption('#operation-type', 'f64');
  await page.fill('#operation-text', 'fused');
  const found = await page.locator('#operations tbody tr:not([hidden]) code').allTextContents();
  assert.ok(found.includes('fma.f64') && found.every((id) => /^fma\..*f64$/.test(id)), found.join());
  assert.equal(await page.locator('#operation-count').textContent(), `${found.length} of ${all} operations`);
  await page.fill('#operation-text', 'fused fma.f64');
  assert.equal(await visible(), 1);
  const {name, content} = await download(page, () => page.click('#export-operations'));
  assert.match(name, /operations\.csv$/);
  assert.match(content.toString(), /^element,attribute,value.*\r\ninstructions\.fma\.f64,latency,[\d.]+,.*\r\ninstructions\.fma\.f64,throughput,[\d.]+,.*\r\n$/);
  assert.equal(await page.locator('figure.still svg[role=img]').count(), 2);
  await isAccessible(page);
  await fitsWidths(page);
  await close(page);
});

test('contents lead to each section, and each value has its place in the JSON', async () => {
  const page = await open(await render('h200'), {permissions: ['clipboard-read', 'clipboard-write']});
  const links = await page.getByRole('navigation', {name: 'Contents'}).getByRole('link').allTextContents();
  assert.deepEqual(links, await page.locator('main > section > h2').allTextContents());
  await page.getByRole('link', {name: 'Every value'}).click();
  assert.ok(await page.locator('#h-values').evaluate((heading) => heading.getBoundingClientRect().top < 200));
  const block = await evidence(page, 'l2-latency');
  const button = block.getByRole('button', {name: 'Copy memory.l2.latency'});
  await button.click();
  await block.getByText('Copied').waitFor();
  const path = await page.evaluate(() => navigator.clipboard.readText());
  const report = JSON.parse(readFileSync(join(reports, 'h200.json'), 'utf8'));
  assert.equal(path.split('.').reduce((at, name) => at[name], report).value, report.memory.l2.latency.value);
  await close(page);
});

test('the drawing can be taken away as it looks', async () => {
  const page = await open(await render('mi300x'), {colorScheme: 'light'});
  const take = () => download(page, () => page.getByRole('button', {name: 'SVG: Save the drawing as SVG'}).click());
  const {name, content} = await take();
  assert.match(name, /^gputopo-AMD_Instinct_MI300X\.chip\.svg$/);
  const light = content.toString();
  assert.match(light, />AMD Instinct MI300X<\/text>/);
  assert.match(light, />SIMULATED<\/text>/);
  assert.match(light, /#dff0df/, 'colours, not custom properties');
  assert.doesNotMatch(light, /var\(|tabindex|undefined|NaN/);
  await page.click('#theme');
  assert.match((await take()).content.toString(), /#1b3a22/);
  const png = await download(page, () => page.getByRole('button', {name: 'PNG: Save the drawing as PNG'}).click());
  assert.deepEqual([...png.content.subarray(1, 4)].map((byte) => String.fromCharCode(byte)).join(''), 'PNG');
  await close(page);
});

test('the drawing is printed alone, on one sheet of its size', async () => {
  const page = await open(await render('h200'));
  await page.addInitScript(() => { window.print = () => { parent.printed = document.documentElement.outerHTML; }; });
  await page.getByRole('button', {name: /^PDF/}).click();
  const html = await (await page.waitForFunction(() => window.printed)).jsonValue();
  const paper = await newPage();
  await paper.setContent(html);
  assert.match(await paper.title(), /h200.*chip\.pdf$/i, 'the name that the dialog proposes');
  const pdf = (await paper.pdf({preferCSSPageSize: true, printBackground: true})).toString('latin1');
  assert.equal(pdf.match(/\/Type \/Page\b/g).length, 1);
  const [width, height] = pdf.match(/\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/).slice(1).map(Number);
  const [viewWidth, viewHeight] = html.match(/viewBox="\S+ \S+ (\S+) (\S+)"/).slice(1).map(Number);
  assert.ok(Math.abs(width / height - viewWidth / viewHeight) < 0.01, `${width} x ${height}`);
  assert.match(pdf, /\/Type \/Font\b/, 'text stays text');
  await paper.context().close();
  await close(page);
});

test('names of methods lead to what they are, of those alone that the page names', async () => {
  const page = await open(await render('h200'));
  const terms = await page.locator('.methods dt').allTextContents();
  const used = await page.locator('.evidence .facts-column a[href^="#method-"]').allTextContents();
  assert.deepEqual([...new Set(used)].sort(), [...terms].sort());
  // From the table of all values, and from the evidence.
  await page.fill('#filter-text', 'l1.size');
  const link = page.locator('#values tbody tr:not([hidden]) td:last-child a').first();
  const name = await link.textContent();
  assert.equal(await page.locator('#methods').getAttribute('open'), null);
  await link.focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('.methods') !== null);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
  assert.ok(await page.locator('.methods dt:target + dd').isVisible());
  assert.match(await page.locator('.methods dt:target + dd').textContent(), /^[A-Z].*\. docs\/methods\/[a-z0-9_]+\.md$/);
  await close(page);
});

test('the page can be used by keys, which a help lists', async () => {
  const page = await open(await render('h200'));
  const focused = () => page.evaluate(() => document.activeElement.id);
  await page.keyboard.press('?');
  assert.ok(await page.locator('#keys').evaluate((dialog) => dialog.open));
  await passesAxe(page, undefined, '#keys');
  assert.match(await page.locator('#keys').textContent(), /next section/);
  await page.keyboard.press('n');
  assert.ok(await page.locator('#keys').evaluate((dialog) => dialog.open), 'the page below is out of reach');
  await page.keyboard.press('Escape');
  assert.ok(!await page.locator('#keys').evaluate((dialog) => dialog.open));
  // The sections in order, each at the top, to the last one and back.
  await page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) details.open = false;
    window.scrollTo(0, 0);
    document.activeElement.blur();
  });
  const sections = await page.locator('main h2[id]').evaluateAll((all) => all.map(({id}) => id));
  for (const id of [...sections, sections.at(-1)]) {
    await page.keyboard.press('n');
    assert.equal(await focused(), id);
    assert.ok(await page.locator(`#${id}`).evaluate((heading) => heading.getBoundingClientRect().bottom < window.innerHeight), id);
  }
  for (const id of sections.toReversed().slice(1)) {
    await page.keyboard.press('p');
    assert.equal(await focused(), id);
  }
  await page.keyboard.press('/');
  assert.equal(await focused(), 'filter-text');
  await page.keyboard.type('n?/p');
  assert.equal(await page.inputValue('#filter-text'), 'n?/p', 'who types types');
  await page.fill('#filter-text', '');
  await page.evaluate(() => document.activeElement.blur());
  const pressed = await page.locator('#heat').getAttribute('aria-pressed');
  await page.keyboard.press('h');
  assert.notEqual(await page.locator('#heat').getAttribute('aria-pressed'), pressed);
  // A digit toggles a line of a plot, like a click on the legend.
  const figure = page.locator('.curves figure').first();
  await figure.scrollIntoViewIfNeeded();
  await figure.locator('.plot svg').waitFor();
  const before = await figure.locator('.plot').innerHTML();
  await figure.locator('.plot').focus();
  await page.keyboard.press('1');
  await until(() => figure.locator('.plot').innerHTML(), (now) => now !== before, 'a digit hides a line');
  // The Tab key reaches everything that a pointer can click.
  await openAll(page);
  const unreachable = await page.evaluate(() => [...document.querySelectorAll('main *')].filter((element) =>
      getComputedStyle(element).cursor === 'pointer' && getComputedStyle(element.parentElement).cursor !== 'pointer' &&
      element.offsetParent !== null && element.tabIndex < 0 && !element.closest('.plot')).map((element) => element.outerHTML.slice(0, 80)));
  assert.deepEqual(unreachable, []);
  await close(page);
});

test('h200: the map, and each kind of evidence', async () => {
  const page = await open(await render('h200'));
  const groups = await page.locator('.chip .group').evaluateAll((all) => all.map((group) => group.getAttribute('aria-label')));
  assert.equal(groups.filter((label) => /^L2 cache partition \d, near/.test(label)).length, 2);
  assert.equal(groups.filter((label) => /^GPC, behind one L2 instruction cache: 1[68] SMs/.test(label)).length, 8);
  const marks = async (id, words) => {
    const text = await (await evidence(page, id)).locator('.charts').textContent();
    for (const word of words) assert.ok(text.includes(word), `${id}: no '${word}' in ${text}`);
  };
  await marks('l1-size', ['size', 'first miss', 'all miss', 'change point']);
  await marks('l2-latency', ['level 1', 'level 2', 'p95']);
  await marks('l2-loaded_latency', ['knee', 'unloaded']);
  await marks('shared-conflict_cost', ['conflict free', 'load', 'store']);
  await marks('device-read_bandwidth', ['theoretical', 'blocks per SM']);
  // For runs with similar values, no two ticks have the same text.
  const block = await evidence(page, 'texture-read_bandwidth');
  await block.locator('.plot svg').first().waitFor();
  const ticks = (await block.locator('.plot svg').first().locator('text').allTextContents()).filter((text) => /^[\d.]+ TB\/s$/.test(text));
  assert.ok(ticks.length > 2 && new Set(ticks).size === ticks.length, ticks.join());
  // The matrix of SMs and lines is a heat map.
  const map = (await evidence(page, 'l2-near_sms')).locator('figure.chart').nth(1);
  await map.locator('canvas').first().waitFor();
  const csv = await download(page, () => map.getByRole('button', {name: /^CSV/}).click());
  assert.equal(csv.content.toString().trim().split('\r\n').length, 1 + 132 * 192);
  const png = await download(page, () => map.getByRole('button', {name: /^PNG/}).click());
  assert.equal(png.content.subarray(1, 4).toString(), 'PNG');
  await close(page);
});

test('300 SMs near 16 parts, and plots of thousands of samples', async () => {
  const report = JSON.parse(readFileSync(join(reports, 'h200.json'), 'utf8'));
  const near = Array.from({length: 16}, (_, part) => Array.from({length: 300}, (_, sm) => sm).filter((sm) => sm % 16 === part));
  report.compute.sm_count.value = 300;
  report.memory.l2.partitions.value = 16;
  report.memory.l2.near_sms.value = near;
  for (const cache of ['icache_l1', 'icache_l2']) report.memory[cache].shared_between.value = [[0, 16]];
  const rows = Array.from({length: 10000}, (_, r) => r);
  for (const attribute of ['size', 'latency', 'line_size', 'amount']) {
    report.memory.l1[attribute].samples = [{
      name: `l1.${attribute}.many`, plot: 'line',
      columns: [
        {name: 'footprint_bytes', role: 'axis', quantity: 'footprint', unit: 'B'},
        {name: 'latency_cycles', role: 'value', quantity: 'latency', unit: 'cycles'},
      ],
      data: [rows.map((r) => 512 + 64 * r), rows.map((r) => 30 + (r * 7919) % 211)],
    }];
  }
  const path = join(folder, 'large.json');
  writeFileSync(path, JSON.stringify(report));
  const page = await open(await render('large', path));
  assert.equal(await page.locator('.chip .group').count(), 16);
  await openAll(page);
  for (const id of ['near_sms', 'size', 'latency', 'line_size', 'amount']) {
    await drawsPlots(page, `#evidence-${id === 'near_sms' ? 'l2' : 'l1'}-${id}`);
  }
  await isAccessible(page);
  await fitsWidths(page);
  await close(page);
});

test('a report in which everything is missing', async () => {
  const report = JSON.parse(readFileSync(join(reports, 'h200.json'), 'utf8'));
  for (const element of Object.values(report.memory)) {
    for (const [id, attribute] of Object.entries(element)) {
      if (typeof attribute === 'object') element[id] = {source: 'unavailable', reason: 'device_error', detail: 'the device failed'};
    }
  }
  const path = join(folder, 'missing.json');
  writeFileSync(path, JSON.stringify(report));
  const page = await open(await render('missing', path));
  assert.match(await page.locator('#values').textContent(), /device error: the device failed/);
  await isAccessible(page);
  await fitsWidths(page);
  await close(page);
});

test('a report of nothing', async () => {
  const report = JSON.parse(readFileSync(join(reports, 'mi300x.json'), 'utf8'));
  report.memory = {};
  report.compute = {};
  const path = join(folder, 'nothing.json');
  writeFileSync(path, JSON.stringify(report));
  const page = await open(await render('nothing', path));
  assert.match(await page.locator('main').textContent(), /No memory was measured/);
  await close(page);
});

test('without a script it can still be read', async () => {
  const page = await newPage({javaScriptEnabled: false});
  await page.goto(pathToFileURL(await render('h200')).href);
  assert.match(await page.locator('main').textContent(), /L1 data cache/);
  await close(page);
});

for (const name of ['h200', 'mi300x', 'gt200']) {
  test(`${name}: eight sheets of paper at most, unless evidence is open`, async () => {
    const page = await open(await render(name));
    const sheets = (await page.pdf({format: 'A4'})).toString('latin1').match(/\/Type \/Page\b/g).length;
    assert.ok(sheets <= 8, `${sheets}`);
    await page.locator('details.evidence:has(figure)').first().evaluate((element) => element.open = true);
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({media: 'print'});
    assert.ok(await page.locator('details.evidence[open] figure .plot svg').first().isVisible());
    assert.equal(await page.locator('details.evidence:not([open])').first().isVisible(), false);
    await close(page);
  });
}

test('print shows every plot that is open, scaled and in its place', async () => {
  const page = await open(await render('h200'));
  await openAll(page);
  const isPainted = await page.evaluate(() => {
    window.dispatchEvent(new Event('beforeprint'));
    // Before another frame, the last column of the map of all SMs is drawn, to the left of the color bar.
    return [...document.querySelectorAll('#evidence-l2-near_sms canvas')].some((canvas) => {
      const scale = canvas.width / canvas.clientWidth;
      const [r, g, b] = canvas.getContext('2d').getImageData((canvas.clientWidth - 134) * scale, canvas.height / 2, 1, 1).data;
      return r !== g || g !== b;
    });
  });
  assert.ok(isPainted, 'maps are painted before they are printed');
  await page.emulateMedia({media: 'print'});
  await page.setViewportSize({width: 700, height: 900});
  const problems = await page.evaluate(() => {
    const found = [];
    for (const figure of document.querySelectorAll('figure.chart')) {
      const box = figure.getBoundingClientRect();
      const drawing = figure.querySelector('.plot svg, .plot canvas');
      const {width, height, bottom} = drawing.getBoundingClientRect();
      const name = figure.querySelector('figcaption').textContent.slice(0, 60);
      const plot = figure.querySelector('.plot').getBoundingClientRect();
      if (height < 100 || width > box.width + 1 || plot.height > height + 8) found.push(`${name}: ${width} x ${height} in ${plot.height}`);
      if (bottom > figure.querySelector('figcaption').getBoundingClientRect().top + 1) found.push(`${name}: covers what follows`);
      if (drawing.tagName === 'svg' && !drawing.getAttribute('viewBox')) found.push(`${name}: no viewBox`);
    }
    if (document.querySelector('.legend').getBoundingClientRect().height === 0) found.push('the legend of the marks is gone');
    return found;
  });
  assert.deepEqual(problems, []);
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  await page.emulateMedia({media: 'screen'});
  const pdf = await page.pdf({format: 'A4'});
  assert.equal(pdf.subarray(0, 4).toString(), '%PDF');
  await close(page);
});

test('a bar of one has a height', async () => {
  const report = JSON.parse(readFileSync(join(reports, 'h200.json'), 'utf8'));
  report.memory.l1.latency.samples = [{
    name: 'l1.latency.histogram', plot: 'bars',
    columns: [
      {name: 'latency_cycles', role: 'axis', quantity: 'latency', unit: 'cycles'},
      {name: 'loads', role: 'value', quantity: 'loads', unit: ''},
    ],
    data: [[30, 40, 50, 60], [1, 1, 5000, 3]],
  }];
  const path = join(folder, 'ones.json');
  writeFileSync(path, JSON.stringify(report));
  const page = await open(await render('ones', path));
  const figure = (await evidence(page, 'l1-latency')).locator('figure.chart').first();
  const heights = await figure.locator('.plot svg path').evaluateAll(
      (paths) => paths.filter((path) => path.getAttribute('fill') === getComputedStyle(document.documentElement).getPropertyValue('--series-1').trim())
                     .map((path) => path.getBBox().height));
  assert.equal(heights.length, 4);
  for (const height of heights) assert.ok(height > 3, `${heights}`);
  await close(page);
});

test('samples can be read as a table', async () => {
  const page = await open(await render('h200'));
  const figure = (await evidence(page, 'l1-size')).locator('figure.chart').first();
  await figure.locator('details.samples summary').click();
  await figure.locator('details.samples tbody tr').first().waitFor();
  assert.equal(await figure.locator('details.samples tbody tr').count(), 50);
  assert.match(await figure.locator('details.samples thead').textContent(), /footprint bytes/);
  await close(page);
});

// The export uses the same option, with placed texts. Returns those of `names`, or of all texts, that cover another
// text or the samples.
async function overlaps(page, figure, names = null) {
  const {content} = await download(page, () => figure.getByRole('button', {name: /^SVG/}).click());
  return page.evaluate(([text, names]) => {
    const place = document.createElement('div');
    place.innerHTML = text;
    document.body.append(place);
    const style = getComputedStyle(document.documentElement);
    const colours = [1, 2, 3, 4, 5, 6, 7, 8].map((i) => style.getPropertyValue(`--series-${i}`).trim());
    const boxes = [...place.querySelectorAll('text')].map((element) => [element.textContent, element.getBoundingClientRect()]);
    const samples = [...place.querySelectorAll('path')].filter((path) => colours.includes(path.getAttribute('stroke')) && path.getAttribute('stroke-width') === '1.5')
                        .map((path) => ['samples', path.getBoundingClientRect()]);
    const meet = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
    const found = [];
    for (const [i, [a, one]] of boxes.entries()) {
      if (names && !names.some((name) => name.includes(a))) continue;
      const {left, right} = place.firstElementChild.getBoundingClientRect();
      if (one.left < left || one.right > right) found.push(`${a} is cut`);
      const others = names ? [...boxes.slice(0, i), ...boxes.slice(i + 1), ...samples] : boxes.slice(i + 1);
      for (const [b, other] of others) if (meet(one, other)) found.push(`${a} and ${b}`);
    }
    place.remove();
    return found;
  }, [content.toString(), names]);
}

test('a map on a small screen: its labels do not cover each other', async () => {
  const page = await open(await render('h200'), {viewport: {width: 390, height: 900}});
  const maps = await page.evaluate(() => JSON.parse(document.getElementById('charts').textContent)
                                             .flatMap((chart, index) => chart.plot === 'map' ? [index] : []));
  assert.ok(maps.length > 0);
  for (const index of maps) {
    const figure = page.locator(`figure[data-chart="${index}"]`);
    await figure.evaluate((element) => { for (let outer = element.closest('details'); outer; outer = outer.parentElement.closest('details')) outer.open = true; });
    await figure.scrollIntoViewIfNeeded();
    await figure.locator('canvas').first().waitFor();
    assert.deepEqual(await overlaps(page, figure), []);
  }
  await close(page);
});

for (const width of [1280, 390]) {
  test(`names of marks cover neither samples nor each other at ${width} px`, async () => {
    const page = await open(await render('h200'), {viewport: {width, height: 900}});
    for (const id of ['l1-size', 'l2-latency', 'shared-conflict_cost', 'device-read_bandwidth', 'device-write_bandwidth', 'l2-loaded_latency']) {
      for (const figure of await (await evidence(page, id)).locator('figure.chart').all()) {
        const index = Number(await figure.getAttribute('data-chart'));
        const names = await page.evaluate(
            (index) => JSON.parse(document.getElementById('charts').textContent)[index].marks.map((mark) => mark.label), index);
        assert.deepEqual(await overlaps(page, figure, names), [], id);
      }
    }
    await close(page);
  });
}

test('what is wider than a small screen says so, but not on paper', async () => {
  const page = await open(await render('h200'), {viewport: {width: 390, height: 900}});
  const region = page.getByRole('region', {name: 'Drawing of the chip'});
  const hint = page.getByText('scroll it sideways');
  assert.ok(await hint.isVisible());
  await page.waitForSelector('.chip .scroll.more-after');
  await region.evaluate((element) => element.scrollLeft = element.scrollWidth);
  await page.waitForSelector('.chip .scroll.more-before:not(.more-after)');
  await page.emulateMedia({media: 'print'});
  assert.ok(!await hint.isVisible());
  assert.equal(await region.evaluate((element) => getComputedStyle(element).maskImage), 'none');
  await page.emulateMedia({media: 'screen'});
  await page.setViewportSize({width: 1280, height: 900});
  await page.waitForSelector('.chip .scroll:not(.more-before):not(.more-after)');
  assert.ok(!await hint.isVisible());
  await close(page);
});

test('diff: plots side by side move together', async () => {
  const report = JSON.parse(readFileSync(join(reports, 'h200.json'), 'utf8'));
  report.memory.l2.latency.value *= 1.5;
  report.memory.l2.latency.low *= 1.5;
  report.memory.l2.latency.high *= 1.5;
  const second = join(folder, 'slower.json');
  writeFileSync(second, JSON.stringify(report));
  const path = join(folder, 'diff.html');
  await assert.rejects(run(['diff', join(reports, 'h200.json'), second, '--html', path]), {code: 1}, 'they differ');
  const page = await open(path);
  assert.match(await page.locator('main').textContent(), /\+50%/);
  // Latency over footprint: both reports in one plot, each with its name.
  const curve = page.locator('.curves figure.chart').first();
  await curve.scrollIntoViewIfNeeded();
  await curve.locator('.plot svg').waitFor();
  const names = await curve.locator('.plot svg text').allTextContents();
  assert.ok(names.includes('h200') && names.includes('slower'), names.join());
  const {content} = await download(page, () => curve.getByRole('button', {name: /^SVG/}).click());
  assert.match(content.toString(), /h200, slower/);
  assert.doesNotMatch(content.toString(), /undefined|NaN/);
  const figures = page.locator('.pair').first().locator('figure.chart');
  assert.equal(await figures.count(), 2);
  for (const figure of await figures.all()) {
    await figure.scrollIntoViewIfNeeded();
    await figure.locator('.plot svg').waitFor();
  }
  const other = () => figures.nth(1).locator('.plot').innerHTML();
  const before = await other();
  await figures.nth(0).getByRole('button', {name: /^Zoom in/}).click();
  await until(other, (now) => now !== before, 'the second plot zooms with the first');
  await figures.nth(0).getByRole('button', {name: /^Reset/}).click();
  // The cursor of one plot shows in the other, too.
  const box = await figures.nth(0).locator('.plot').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.move(box.x + box.width / 2 + 3, box.y + box.height / 2);
  await until(
      () => page.locator('.pair').first().locator('.plot > div[style*="position: absolute"]').evaluateAll(
          (all) => all.filter((tip) => /mean|:/.test(tip.textContent) && getComputedStyle(tip).opacity !== '0').map((tip) => tip.innerText.split('\n')[0])),
      (shown) => shown.length === 2 && shown[0] === shown[1], 'both plots have the cursor at one place');
  // The table links to the plots of differences, which come first.
  await page.locator('main table a').first().click();
  assert.equal(new URL(page.url()).hash, '#pair-0');
  assert.match(await page.locator('h3').first().textContent(), /differs/);
  await isAccessible(page);
  await fitsWidths(page);
  await passesAxe(page);
  await close(page);
});

if (screenshots) {
  test('screenshots', async () => {
    for (const [name, width, theme] of [['h200', 1280, 'light'], ['mi300x', 1280, 'dark'], ['h200', 800, 'dark'], ['gt200', 390, 'light'],
                                        ['mi300x', 800, 'light'], ['h200', 390, 'dark']]) {
      const page = await open(await render(name), {viewport: {width, height: 1000}, colorScheme: theme});
      await page.locator('.chip .part').first().focus();
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.screenshot({path: join(screenshots, `${name}-${width}-${theme}.png`)});
      await page.locator('details.evidence:has(figure)').first().evaluate((element) => element.open = true);
      await page.evaluate(() => document.querySelector('details.evidence[open]').scrollIntoView());
      await page.locator('figure.chart .plot svg').first().waitFor();
      await page.waitForTimeout(300);
      await page.screenshot({path: join(screenshots, `${name}-${width}-${theme}-evidence.png`)});
      await close(page);
    }
    const page = await open(await render('h200'));
    for (const [id, name] of [['l2-near_sms', 'map'], ['l2-loaded_latency', 'knee'], ['shared-conflict_cost', 'banks'], ['l2-latency', 'levels']]) {
      const block = await evidence(page, id);
      await page.waitForTimeout(3000);  // a map is painted over many frames
      await block.screenshot({path: join(screenshots, `h200-1280-light-${name}.png`)});
    }
    await close(page);
  });
}

await runTests();
