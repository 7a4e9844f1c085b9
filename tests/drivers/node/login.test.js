'use strict';
// A client with a password, one with a wrong one, and one with none.

const assert = require('node:assert');
const { after, before, describe, it } = require('node:test');
const cassandra = require('cassandra-driver');
const { Server } = require('./server.js');

describe('passwords', () => {
  let server;
  const provider = (password) => new cassandra.auth.PlainTextAuthProvider('admin', password);

  before(async () => {
    server = await Server.start({ reactor: 'uring', shards: '2', protocol: 4 }, 'passwords');
  });
  after(() => server.stop());

  it('serves a client with the right one', async () => {
    const client = await server.connect({ authProvider: provider('a password of the tests') });
    const { rows } = await client.execute('SELECT username FROM system_views.clients');
    assert.ok(rows.length > 0 && rows.every((row) => row.username === 'admin'));
    await client.shutdown();
  });

  it('refuses a wrong one and none', async () => {
    const is = (words) => (error) => Object.values(error.innerErrors).some((inner) => inner.message.includes(words));
    await assert.rejects(server.connect({ authProvider: provider('wrong') }), is('Provided username admin and/or password are incorrect'));
    await assert.rejects(server.connect());
  });
});
