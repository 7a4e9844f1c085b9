'use strict';
// Clients under TLS, with a certificate or without, and logins by certificate.

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, describe, it } = require('node:test');
const cassandra = require('cassandra-driver');
const { Server } = require('./server.js');

const IDENTITY = 'spiffe://example.com/client';

describe('TLS', () => {
  let folder;
  const read = (name) => fs.readFileSync(path.join(folder, name));
  // As docs/guide/security.md has it.
  const certified = () => ({ sslOptions: { ca: [read('ca.crt')], cert: read('client.crt'), key: read('client.key'), rejectUnauthorized: true } });
  const uncertified = () => ({ sslOptions: { ca: [read('ca.crt')], rejectUnauthorized: true } });
  const hears = (words) => (error) => Object.values(error.innerErrors).some((inner) => inner.message.includes(words));

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'helenus-tls-'));
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  describe('with certificates of clients', () => {
    let server;

    before(async () => {
      server = await Server.start({ reactor: 'uring', shards: '2', protocol: 4 }, folder);
    });
    after(() => server.stop());

    it('serves a client with a certificate', async () => {
      const client = await server.connect(certified());
      const { rows } = await client.execute('SELECT ssl_enabled FROM system_views.clients');
      assert.ok(rows.length > 0 && rows.every((row) => row.ssl_enabled));
      await client.shutdown();
    });

    it('refuses one without', async () => {
      await assert.rejects(server.connect(uncertified()));
    });
  });

  it('logs a client in by its certificate while its identity has a role', async () => {
    const server = await Server.start({ reactor: 'uring', shards: '2', protocol: 4 }, folder, 'MutualTlsAuthenticator');
    try {
      await assert.rejects(server.connect(certified()), hears(`Certificate identity '${IDENTITY}' not authorized`));
      await server.asOwner('CREATE ROLE client WITH LOGIN = true AND SUPERUSER = true');
      await server.asOwner(`ADD IDENTITY '${IDENTITY}' TO ROLE 'client'`);
      const client = await server.connect(certified());
      const { rows } = await client.execute('SELECT username FROM system_views.clients');
      assert.ok(rows.some((row) => row.username === 'client'));
      // It has an answer, and is not asked.
      const answering = await server.connect({ ...certified(), authProvider: new cassandra.auth.PlainTextAuthProvider('any', 'any') });
      await answering.shutdown();
      await server.asOwner(`DROP IDENTITY '${IDENTITY}'`);
      await assert.rejects(server.connect(certified()), hears('not authorized'));
      assert.ok((await client.execute('SELECT cluster_name FROM system.local')).rows.length > 0, 'a live session goes on');
      await client.shutdown();
    } finally {
      await server.stop();
    }
  });

  it('falls back to the password of a client without a certificate', async () => {
    const authenticator = 'MutualTlsWithPasswordFallbackAuthenticator';
    const server = await Server.start({ reactor: 'epoll', shards: '1', protocol: 4 }, folder, authenticator);
    try {
      await server.asOwner("CREATE ROLE client WITH LOGIN = true AND PASSWORD = 'secret'");
      const password = { authProvider: new cassandra.auth.PlainTextAuthProvider('client', 'secret') };
      const client = await server.connect({ ...uncertified(), ...password });
      await client.shutdown();
      await assert.rejects(server.connect({ ...certified(), ...password }), hears('not authorized'));
      await assert.rejects(server.connect(uncertified()), hears('requires authentication'));
    } finally {
      await server.stop();
    }
  });
});
