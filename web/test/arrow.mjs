// arrow.mjs STORE REPORT: reads a fleet's store, made from this report alone, with another implementation of Arrow.
// Every value of the report must be in it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';

const [store, reportFile] = process.argv.slice(2);
const table = tableFromIPC(readFileSync(store));
const report = JSON.parse(readFileSync(reportFile, 'utf8'));

const types = Object.fromEntries(table.schema.fields.map((field) => [field.name, String(field.type)]));
assert.equal(types.value, 'Float64');
assert.equal(types.low, 'Float32');
assert.equal(types.simulated, 'Bool');
assert.equal(types.timestamp, 'Timestamp<SECOND, UTC>');
for (const name of ['report', 'file', 'host', 'gpu', 'name', 'model', 'driver', 'profile', 'path', 'unit', 'source', 'reason', 'text']) {
  assert.match(types[name], /^Dictionary<Int(8|16|32), Utf8>$/, name);
}
assert.equal(table.schema.metadata.get('gputopo_fleet_store'), '1');

const rows = new Map(table.toArray().map((row) => [row.path, row.toJSON()]));
assert.equal(rows.size, table.numRows);
let compared = 0;
for (const [element, attributes] of Object.entries(report.memory)) {
  for (const [name, attribute] of Object.entries(attributes)) {
    if (typeof attribute.value !== 'number') continue;
    const row = rows.get(`${element === 'device' ? 'memory.device' : element}.${name}`);
    assert.ok(row, `${element}.${name}`);
    assert.equal(row.value, attribute.value);
    assert.equal(row.unit ?? '', attribute.unit);
    assert.equal(row.source, attribute.source);
    // The interval must not be narrower.
    if (attribute.low !== null) assert.ok(row.low <= attribute.low && row.high >= attribute.high, row.path);
    assert.equal(row.model, report.device.name);
    assert.equal(row.name, 'a');
    assert.equal(row.host, null);
    assert.equal(row.simulated, false);
    assert.equal(new Date(row.timestamp).toISOString().replace('.000Z', 'Z'), report.timestamp);
    compared += 1;
  }
}
assert.ok(compared > 80, String(compared));
assert.equal(rows.get('l2.index').text, 'hashed');
assert.equal(rows.get('l2.slices').reason, 'device_error');
assert.equal(rows.get('l2.slices').value, null);
console.log(`${compared} values of ${table.numRows} rows are as in the report`);
