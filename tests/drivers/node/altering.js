'use strict';
// Prepared statements whose table changed: the server forgets them, the driver prepares them anew.

const assert = require('node:assert/strict');
const { it } = require('node:test');
const { errors, types } = require('cassandra-driver');

const PREPARED = { prepare: true };

module.exports = (subject) => {
  const execute = (text, values = []) => subject.client.execute(text, values, PREPARED);

  // The server has forgotten the statement and refuses to prepare it anew; of the two this driver tells the first.
  const isForgotten = (answer) => assert.rejects(answer, (error) => {
    assert.ok(error instanceof errors.NoHostAvailableError, String(error));
    assert.deepEqual(Object.values(error.innerErrors).map(({ code }) => code), [types.responseErrorCodes.unprepared]);
    return true;
  });

  it('goes on after columns were added', async () => {
    await execute('CREATE TABLE grown (a int PRIMARY KEY, b int)');
    await execute('INSERT INTO grown (a, b) VALUES (?, ?)', [1, 2]);
    const star = async () => (await execute('SELECT * FROM grown WHERE a = ?', [1])).first();
    assert.deepEqual({ ...await star() }, { a: 1, b: 2 });
    await execute('ALTER TABLE grown ADD (aa text, z list<int>)');
    await execute("UPDATE grown SET aa = 'new', z = [1] WHERE a = 1");
    await execute('INSERT INTO grown (a, b) VALUES (?, ?)', [2, 3]);
    // This driver lets the server tell the columns with each result.
    assert.deepEqual({ ...await star() }, { a: 1, aa: 'new', b: 2, z: [1] });
    assert.equal((await execute('SELECT b FROM grown WHERE a = ?', [2])).first().b, 3);
  });

  it('is told that a column was dropped', async () => {
    await execute('CREATE TABLE shrunk (a int PRIMARY KEY, b int, c int)');
    await execute('INSERT INTO shrunk (a, b, c) VALUES (1, 2, 3)');
    const [whole, rest] = ['SELECT a, b, c FROM shrunk WHERE a = ?', 'SELECT a, b FROM shrunk WHERE a = ?'];
    assert.equal((await execute(whole, [1])).first().c, 3);
    assert.equal((await execute(rest, [1])).first().b, 2);
    await execute('ALTER TABLE shrunk DROP c');
    await isForgotten(execute(whole, [1]));
    assert.equal((await execute(rest, [1])).first().b, 2);
  });

  it('is told that a key column was renamed', async () => {
    await execute('CREATE TABLE renamed (a int PRIMARY KEY, b int)');
    await execute('INSERT INTO renamed (a, b) VALUES (1, 2)');
    assert.equal((await execute('SELECT b FROM renamed WHERE a = ?', [1])).first().b, 2);
    await execute('ALTER TABLE renamed RENAME a TO k');
    await isForgotten(execute('SELECT b FROM renamed WHERE a = ?', [1]));
    assert.equal((await execute('SELECT b FROM renamed WHERE k = ?', [1])).first().b, 2);
  });

  it('sees a field that a type was given', async () => {
    await execute('CREATE TYPE growing (a int)');
    await execute('CREATE TABLE holding (k int PRIMARY KEY, v frozen<growing>)');
    await execute('INSERT INTO holding (k, v) VALUES (1, {a: 5})');
    const value = async (k) => ({ ...(await execute('SELECT v FROM holding WHERE k = ?', [k])).first().v });
    assert.deepEqual(await value(1), { a: 5 });
    await execute('ALTER TYPE growing ADD b text');
    await execute('INSERT INTO holding (k, v) VALUES (?, ?)', [2, { a: 6, b: 'six' }]);
    assert.deepEqual(await value(2), { a: 6, b: 'six' });
  });

  it('finds a table that was made anew', async () => {
    const query = 'SELECT b FROM forgotten WHERE a = ?';
    await execute('CREATE TABLE forgotten (a int PRIMARY KEY, b int)');
    assert.equal((await execute(query, [1])).first(), null);
    await execute('DROP TABLE forgotten');
    await isForgotten(execute(query, [1]));
    await execute('CREATE TABLE forgotten (a int PRIMARY KEY, b int)');
    await execute('INSERT INTO forgotten (a, b) VALUES (1, 9)');
    assert.equal((await execute(query, [1])).first().b, 9);
  });
};
