'use strict';
// Each error with its code, and with what the driver reads from it.

const assert = require('node:assert/strict');
const { it } = require('node:test');
const { errors, policies, types } = require('cassandra-driver');

const { responseErrorCodes: codes, consistencies } = types;

async function isRefused(answer, code) {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof errors.ResponseError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });
}

// The default policy tries the next node, of which there is none, and reports that.
class Rethrow extends policies.retry.RetryPolicy {
  onUnavailable() { return this.rethrowResult(); }
}

module.exports = (subject) => {
  it('is told what is wrong', async () => {
    const { client } = subject;
    await client.execute('CREATE TABLE twice (a int PRIMARY KEY, b int)');
    await client.execute('CREATE TYPE twice_type (a int)');
    for (const [code, text] of [
      [codes.syntaxError, 'SELEKT 1'],
      [codes.invalid, 'SELECT * FROM nowhere'],
      [codes.invalid, 'SELECT * FROM no_keyspace.nowhere'],
      [codes.invalid, 'SELECT nothing FROM system.local'],
      [codes.invalid, "INSERT INTO twice (a) VALUES ('text')"],
      [codes.invalid, 'INSERT INTO twice (b) VALUES (1)'],
      [codes.invalid, 'SELECT * FROM twice WHERE b = 1'],
      [codes.invalid, 'CREATE TYPE twice_type (a int)'],
      [codes.configError, "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}"],
      [codes.alreadyExists, 'CREATE TABLE twice (a int PRIMARY KEY)'],
      [codes.alreadyExists, "CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"],
    ]) {
      await isRefused(client.execute(text), code);
    }
    await isRefused(client.execute('SELECT * FROM twice WHERE nothing = ?', [1], { prepare: true }), codes.invalid);
    await assert.rejects(client.execute('CREATE TABLE twice (a int PRIMARY KEY)'), { keyspace: 'tested', table: 'twice' });
  });

  it('is told that there are too few replicas', async () => {
    const { client } = subject;
    await client.execute("CREATE KEYSPACE three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}");
    await client.execute('CREATE TABLE three.t (a int PRIMARY KEY)');
    const options = { consistency: consistencies.quorum, retry: new Rethrow() };
    for (const text of ['INSERT INTO three.t (a) VALUES (1)', 'SELECT * FROM three.t WHERE a = 1']) {
      await assert.rejects(client.execute(text, [], options), {
        code: codes.unavailableException, consistencies: consistencies.quorum, required: 2, alive: 1,
      });
    }
    await client.execute('DROP KEYSPACE three');
  });
};
