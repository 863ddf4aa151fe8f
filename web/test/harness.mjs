// The common parts of the page tests; each takes the arguments GPUTOPO REPORTS-FOLDER [SCREENSHOT-FOLDER].
import assert from 'node:assert/strict';
import {AsyncLocalStorage} from 'node:async_hooks';
import {execFile} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {promisify} from 'node:util';
import {chromium} from 'playwright-core';

export const [gputopo, reports, screenshots] = process.argv.slice(2);
export const folder = mkdtempSync(join(tmpdir(), 'gputopo-browser-'));
// A host that runs other tests at the same time is many times slower. An event that never happens costs this long.
export const kPatienceMs = 120000;

const launch = () => chromium.launch({
  executablePath: process.env.GPUTOPO_CHROMIUM || ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync),
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync'],
  timeout: kPatienceMs,
});

// Runs gputopo and returns its output. An exit code outside `codes` is an error.
export async function run(args, codes = [0]) {
  try {
    return (await promisify(execFile)(gputopo, args, {maxBuffer: 1 << 28})).stdout;
  } catch (error) {
    if (codes.includes(error.code)) return error.stdout;
    throw error;
  }
}

// Files that several tests need are made once.
const made = new Map();
export function once(key, make) {
  if (!made.has(key)) made.set(key, make());
  return made.get(key);
}

// Waits until `holds` accepts the result of `value`, and returns it. The error has the last result.
export async function until(value, holds, what) {
  const end = Date.now() + kPatienceMs;
  for (;;) {
    const last = await value();
    if (holds(last)) return last;
    assert.ok(Date.now() < end, `${what}: ${String(last).slice(0, 500)}`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

const running = new AsyncLocalStorage();  // the browser of a test, and its open pages

export async function newPage(options = {}) {
  const {browser, opened} = running.getStore();
  const context = await browser.newContext(options);
  context.setDefaultTimeout(kPatienceMs);
  const page = await context.newPage();
  page.problems = [];
  opened.push(page);
  return page;
}

// Opens a page and fails the test for any console message and any request outside the file. Calls `prepare` with the
// page before it has an address.
export async function openFile(path, options = {}, prepare = async () => {}) {
  const page = await newPage({viewport: {width: 1280, height: 900}, acceptDownloads: true, ...options});
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) page.problems.push(message.text());
  });
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('dialog', (dialog) => {
    page.problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) page.problems.push(`request: ${request.url()}`);
  });
  await prepare(page);
  await page.goto(pathToFileURL(path).href);
  return page;
}

// Opens a page with a script, and waits until the script has run.
export async function open(path, options, prepare) {
  const page = await openFile(path, options, prepare);
  await page.waitForSelector('html[data-ready=yes]');
  return page;
}

export async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

export async function download(page, click) {
  const [file] = await Promise.all([page.waitForEvent('download'), click()]);
  return {name: file.suggestedFilename(), content: readFileSync(await file.path())};
}

// Evidence is folded by default.
export async function openAll(page) {
  await page.evaluate(() => { for (const details of document.querySelectorAll('details:not(.samples)')) details.open = true; });
}

// Draws the visible plots within `scope`, or the first one of each kind, because a plot is drawn once it is seen.
export async function drawsPlots(page, scope = 'body', oneOfAKind = false) {
  await page.evaluate(async ([scope, oneOfAKind, patience]) => {
    const charts = JSON.parse(document.getElementById('charts').textContent);
    const kinds = new Set();
    for (const figure of document.querySelectorAll(`${scope} figure.chart`)) {
      const {plot} = charts[Number(figure.dataset.chart)];
      if (oneOfAKind && kinds.has(plot)) continue;
      kinds.add(plot);
      const end = performance.now() + patience;
      figure.scrollIntoView({block: 'center'});
      while (!figure.querySelector('.plot svg, .plot canvas')) {
        if (performance.now() > end) throw new Error(`not drawn: ${figure.querySelector('figcaption').textContent}`);
        await new Promise(requestAnimationFrame);
      }
    }
  }, [scope, oneOfAKind, kPatienceMs]);
}

export async function drawsEverything(page) {
  await openAll(page);
  await drawsPlots(page);
}

export async function drawsOneOfAKind(page) {
  await openAll(page);
  await drawsPlots(page, 'body', true);
}

// ---- the tests ----

const tests = [];
const only = process.env.GPUTOPO_BROWSER_ONLY;  // part of the names of the tests to run
export function test(name, body) {
  if (!only || name.includes(only)) tests.push({name, body});
}

// Pages wait more than they compute, so several tests run at once. Each has its own browser, because one that prints
// for several pages at once crashes.
const kAtOnce = 3;

// Runs a test, and again in a new browser if the browser ended.
async function attempt(body, worker, again = true) {
  worker.browser = worker.browser?.isConnected() ? worker.browser : await launch();
  const opened = [];
  try {
    await running.run({browser: worker.browser, opened}, body);
  } catch (error) {
    if (again && !worker.browser.isConnected()) {
      console.log('the browser ended; the test runs again in another');
      return await attempt(body, worker, false);
    }
    error.problems = opened.flatMap(({problems}) => problems);
    throw error;
  } finally {
    for (const page of opened) await page.context().close().catch(() => {});
  }
}

export async function runTests() {
  let failures = 0;
  const waiting = tests[Symbol.iterator]();
  const work = async () => {
    const worker = {browser: null};
    for (const {name, body} of waiting) {
      const begin = Date.now();
      try {
        await attempt(body, worker);
        console.log(`ok: ${name} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
      } catch (error) {
        ++failures;
        console.error(`FAILED: ${name}\n${error.stack}`);
        if (error.problems?.length > 0) console.error(error.problems);
      }
    }
    await worker.browser?.close();
  };
  await Promise.all(Array.from({length: kAtOnce}, work));
  rmSync(folder, {recursive: true});
  if (tests.length === 0) console.error(`no test has '${only}' in its name`);
  process.exit(failures > 0 || tests.length === 0 ? 1 : 0);
}
