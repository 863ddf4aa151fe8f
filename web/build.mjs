// Bundles src/ into dist/report.js and dist/report.css, which CMake embeds in the binary. With --check it only says
// whether dist/ is what src/ gives.
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

let stale = false;
for (const file of result.outputFiles) {
  const path = file.path.replace('report-style.css', 'report.css');
  if (file.text.includes('</script')) throw new Error(`${path} would end the <script> element it goes into`);
  if (check) {
    const committed = await readFile(path, 'utf8').catch(() => '');
    if (committed !== file.text) {
      console.error(`${path} is not what src/ gives: run './dev web' and commit it`);
      stale = true;
    }
  } else {
    await writeFile(path, file.text);
    console.log(`${path}: ${(file.contents.length / 1024).toFixed(0)} KiB`);
  }
}
process.exit(stale ? 1 : 0);
