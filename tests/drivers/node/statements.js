'use strict';
// Values by place and by name, null and unset, timestamps, tracing, payloads, long values, pages and batches.

const assert = require('node:assert/strict');
const { it } = require('node:test');
const { concurrent, types } = require('cassandra-driver');

const PREPARED = { prepare: true };
const ROWS = 10_000;

module.exports = (subject) => {
  const execute = (...words) => subject.client.execute(...words);

  it('binds by place and by name', async () => {
    await execute('CREATE TABLE bound (a int, b text, c int, PRIMARY KEY (a, b))');
    await execute('INSERT INTO bound (a, b, c) VALUES (?, ?, ?)', [1, 'x', 2], PREPARED);
    await execute('INSERT INTO bound (a, b, c) VALUES (:a, :b, :c)', { b: 'y', c: 3, a: 1 }, PREPARED);
    assert.equal((await execute('SELECT c FROM bound WHERE a = ? AND b = ?', [1, 'x'], PREPARED)).first().c, 2);
    assert.equal((await execute('SELECT c FROM bound WHERE a = :a AND b = :b', { b: 'y', a: 1 }, PREPARED)).first().c, 3);
    assert.equal((await execute('SELECT c FROM bound WHERE a = ? AND b = ?', [2, 'x'], PREPARED)).first(), null);
  });

  it('leaves alone what is not set', async () => {
    await execute('CREATE TABLE sparse (a int PRIMARY KEY, b int, c int)');
    const insert = 'INSERT INTO sparse (a, b, c) VALUES (?, ?, ?)';
    await execute(insert, [1, 2, 3], PREPARED);
    if (subject.protocol < 4) {
      // Version 3 cannot say it, so the driver refuses, and nothing is written.
      await assert.rejects(execute(insert, [1, 5, types.unset], PREPARED), TypeError);
    } else {
      await execute(insert, [1, 5, types.unset], PREPARED);
      assert.equal((await execute('SELECT b FROM sparse')).first().b, 5);
    }
    assert.equal((await execute('SELECT c FROM sparse')).first().c, 3);
    await execute(insert, [1, 5, null], PREPARED);
    assert.equal((await execute('SELECT c FROM sparse')).first().c, null);
  });

  it("keeps the client's timestamp, and a time to live", async () => {
    await execute('CREATE TABLE timed (a int PRIMARY KEY, b int)');
    await execute('INSERT INTO timed (a, b) VALUES (1, 2)', [], { timestamp: types.Long.fromNumber(123_456) });
    assert.equal(String((await execute('SELECT writetime(b) FROM timed')).first().get(0)), '123456');
    await execute('INSERT INTO timed (a, b) VALUES (2, 2) USING TTL 1000');
    const left = (await execute('SELECT ttl(b) FROM timed WHERE a = 2')).first().get(0);
    assert.ok(left > 990 && left <= 1000, String(left));
  });

  it('has an id for what is traced, and passes over a payload', async () => {
    const query = 'SELECT key FROM system.local';
    assert.equal((await execute(query)).info.traceId, undefined);
    assert.ok((await execute(query, [], { traceQuery: true })).info.traceId);
    if (subject.protocol >= 4) {
      assert.equal((await execute(query, [], { customPayload: { who: Buffer.from([1]) } })).first().key, 'local');
    }
  });

  it('takes a long value in both directions', async () => {
    const value = Buffer.from(Array.from({ length: 3 << 20 }, (_, index) => index * 31 + (index >> 8)));
    await execute('CREATE TABLE large (a int PRIMARY KEY, b blob)');
    await execute('INSERT INTO large (a, b) VALUES (1, ?)', [value], PREPARED);
    assert.ok(value.equals((await execute('SELECT b FROM large')).first().b));
  });

  it('pages through ten thousand rows', async () => {
    await execute('CREATE TABLE paged (part int, row int, value text, PRIMARY KEY (part, row))');
    const values = Array.from({ length: ROWS }, (_, row) => [row % 10, row, `value ${row}`]);
    await concurrent.executeConcurrent(subject.client, 'INSERT INTO paged (part, row, value) VALUES (?, ?, ?)', values, { concurrencyLevel: 100 });
    const seen = new Set();
    let [pages, pageState] = [0, undefined];
    do {
      const page = await execute('SELECT part, row, value FROM paged', [], { prepare: true, fetchSize: 333, pageState });
      assert.ok(page.rows.length <= 333);
      for (const { part, row, value } of page.rows) {
        assert.deepEqual([part, value], [row % 10, `value ${row}`]);
        assert.ok(!seen.has(row), `row ${row} came twice`);
        seen.add(row);
      }
      pages += 1;
      ({ pageState } = page);
    } while (pageState);
    assert.deepEqual([seen.size, pages], [ROWS, Math.ceil(ROWS / 333)]);
    const down = [];
    const query = 'SELECT row FROM paged WHERE part = ? AND row >= ? ORDER BY row DESC';
    for await (const { row } of await execute(query, [3, 500], { prepare: true, fetchSize: 100 })) {
      down.push(row);
    }
    assert.deepEqual(down, Array.from({ length: 950 }, (_, index) => 9993 - 10 * index));
    assert.equal(String((await execute('SELECT count(*) FROM paged')).first().get(0)), String(ROWS));
  });

  for (const logged of [true, false]) {
    for (const prepare of [true, false]) {
      it(`applies ${logged ? 'a logged' : 'an unlogged'} batch of ${prepare ? 'prepared statements' : 'texts'}`, async () => {
        const table = `batched_${logged}_${prepare}`;
        await execute(`CREATE TABLE ${table} (a int, b int, c text, PRIMARY KEY (a, b))`);
        const queries = Array.from({ length: 100 }, (_, index) => ({
          query: prepare ? `INSERT INTO ${table} (a, b, c) VALUES (?, ?, ?)` : `INSERT INTO ${table} (a, b, c) VALUES (${index % 7}, ${index}, ?)`,
          params: prepare ? [index % 7, index, String(index)] : [String(index)],
        }));
        queries.push(`DELETE FROM ${table} WHERE a = 0 AND b = 0`);
        await subject.client.batch(queries, { logged, prepare });
        const { rows } = await execute(`SELECT a, b, c FROM ${table}`);
        // At equal timestamps a deletion wins.
        assert.equal(rows.length, 99);
        assert.ok(rows.every(({ a, b, c }) => b !== 0 && a === b % 7 && c === String(b)));
      });
    }
  }

  it('applies a batch as text', async () => {
    await execute('CREATE TABLE batched_text (a int, b int, PRIMARY KEY (a, b))');
    await execute(`BEGIN UNLOGGED BATCH USING TIMESTAMP 77 INSERT INTO batched_text (a, b) VALUES (?, 1);
      INSERT INTO batched_text (a, b) VALUES (?, 1); APPLY BATCH`, [1, 2], PREPARED);
    assert.equal((await execute('SELECT * FROM batched_text')).rows.length, 2);
  });
};
