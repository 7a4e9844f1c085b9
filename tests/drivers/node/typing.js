'use strict';
// Every type there and back, as a value and as null.

const assert = require('node:assert/strict');
const { after, before, it } = require('node:test');
const { types } = require('cassandra-driver');
const TYPED_VALUES = require('./values.js');

const PREPARED = { prepare: true };

// A value as plain lists and texts, equal for equal values, whatever the driver keeps beside them.
function shown(value) {
  if (value === null || value === undefined) {
    return null;
  }
  if (Buffer.isBuffer(value)) {
    return ['bytes', value.toString('hex')];
  }
  if (value instanceof Date) {
    return ['date', value.getTime()];
  }
  if (value instanceof types.Tuple) {
    return ['tuple', ...value.values().map(shown)];
  }
  if (value instanceof types.Vector) {
    return ['vector', ...Array.from(value).map(shown)];
  }
  if (value instanceof Map) {
    return ['map', ...[...value].map(([key, element]) => [shown(key), shown(element)])];
  }
  if (Array.isArray(value) || value instanceof Set) {
    return [Array.isArray(value) ? 'list' : 'set', ...[...value].map(shown)];
  }
  if (typeof value === 'object') {
    return Object.getPrototypeOf(value) === Object.prototype
      ? ['fields', ...Object.entries(value).map(([name, field]) => [name, shown(field)])]
      : [value.constructor.name, value.toString()];
  }
  return value;
}

// What has no element reads as null where each is a cell of its own, and where the driver sends null instead.
function isNoElement(kind, value) {
  return /^(list|set|map|frozen<list|frozen<set)/.test(kind) && (value.size ?? value.length) === 0;
}

// Version 3 has no code for these, so that they come under their class's name, which this driver cannot encode.
const SINCE_VERSION_4 = ['date', 'smallint', 'time', 'tinyint'];

module.exports = (subject) => {
  // Its maps may have any key; the driver itself can only read the schema without.
  let client;

  // All types are columns of one table, since making tables is not what is tested.
  before(async () => {
    await subject.client.execute('CREATE TYPE address (street text, number int, tags frozen<set<text>>)');
    await subject.client.execute(`CREATE TYPE person (name text, home frozen<address>, phones frozen<map<text, text>>,
      place frozen<tuple<double, double>>)`);
    const columns = TYPED_VALUES.map(({ kind }, number) => `c${number} ${kind}`);
    await subject.client.execute(`CREATE TABLE typed (id int PRIMARY KEY, ${columns.join(', ')})`);
    client = await subject.server.connect({ keyspace: 'tested', encoding: { map: Map, set: Set } });
  });
  after(() => client?.shutdown());

  TYPED_VALUES.forEach(({ kind, values }, number) => {
    it(`keeps ${kind}`, async () => {
      if (subject.protocol < 4 && SINCE_VERSION_4.includes(kind)) {
        await assert.rejects(client.execute(`INSERT INTO typed (id, c${number}) VALUES (?, ?)`, [0, values[0]], PREPARED), TypeError);
        return;
      }
      for (const [index, value] of [...values, null].entries()) {
        const id = number * 100 + index;
        await client.execute(`INSERT INTO typed (id, c${number}) VALUES (?, ?)`, [id, value], PREPARED);
        const { rows } = await client.execute(`SELECT c${number} FROM typed WHERE id = ?`, [id], PREPARED);
        const wanted = value !== null && isNoElement(kind, value) ? null : value;
        assert.deepEqual(shown(rows[0].get(0)), shown(wanted), kind);
      }
    });
  });

  it('takes values whose type it guesses', async () => {
    // Not prepared: the driver takes a number for a double unless told.
    await client.execute('INSERT INTO typed (id, c12) VALUES (?, ?)', [100_000, 'guessed'], { hints: ['int', null] });
    assert.equal((await client.execute('SELECT c12 FROM typed WHERE id = ?', [100_000], { hints: ['int'] })).first().c12, 'guessed');
  });

  it('finds rows by nested keys, in order', async () => {
    await client.execute(`CREATE TABLE keyed (a frozen<map<int, text>>, b tuple<int, text>, c frozen<list<int>>, d int,
      PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)`);
    const key = [new Map([[1, 'one'], [2, 'two']]), new types.Tuple(7, 'seven')];
    const up = [[-1], [1], [1, 2], [2]];
    for (const list of up) {
      await client.execute('INSERT INTO keyed (a, b, c, d) VALUES (?, ?, ?, ?)', [...key, list, list.length], PREPARED);
    }
    const { rows } = await client.execute('SELECT c FROM keyed WHERE a = ? AND b = ?', key, PREPARED);
    assert.deepEqual(rows.map((row) => row.c).reverse(), up);
    const one = await client.execute('SELECT d FROM keyed WHERE a = ? AND b = ? AND c = ?', [...key, [1, 2]], PREPARED);
    assert.equal(one.first().d, 2);
  });
};
