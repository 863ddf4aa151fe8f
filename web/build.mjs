// Bundles src/ into dist/report.js and dist/report.css, which CMake embeds in the binary, and writes the hash by which the
// Content-Security-Policy of a page knows the script. With --check it only says whether dist/ is what src/ gives.
import {createHash} from 'node:crypto';
import {readFile, writeFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const folder = fileURLToPath(new URL('.', import.meta.url));
const check = process.argv.includes('--check');

const result = await build({
  absWorkingDir: folder,
  entryPoints: {report: 'src/report.js', 'report-style': 'src/report.css'},
  outdir: 'dist',
  bundle: true,
  minify: true,
  write: false,
  charset: 'ascii',
  format: 'iife',
  target: ['es2020'],
  legalComments: 'none',
  banner: {
    js: '/*! Contains Apache ECharts and zrender, Copyright The Apache Software Foundation, Apache License 2.0, ' +
        'and tslib, Copyright Microsoft Corporation, 0BSD. */',
  },
});

const files = result.outputFiles.map((file) => ({path: file.path.replace('report-style.css', 'report.css'), text: file.text}));
const script = files.find(({path}) => path.endsWith('.js'));
// A browser hashes the text of the element, in which it has replaced carriage returns.
if (script.text.includes('\r')) throw new Error(`${script.path} has carriage returns: its hash would not fit`);
files.push({path: `${script.path}.hash`, text: `sha256-${createHash('sha256').update(script.text).digest('base64')}`});

let stale = false;
for (const {path, text} of files) {
  if (text.toLowerCase().includes(path.endsWith('.css') ? '</style' : '</script')) throw new Error(`${path} would end the element that it goes into`);
  if (check) {
    const committed = await readFile(path, 'utf8').catch(() => '');
    if (committed !== text) {
      console.error(`${path} is not what src/ gives: run './dev web' and commit it`);
      stale = true;
    }
  } else {
    await writeFile(path, text);
    console.log(`${path}: ${(text.length / 1024).toFixed(0)} KiB`);
  }
}
process.exit(stale ? 1 : 0);
