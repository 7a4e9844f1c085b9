'use strict';
// A client under TLS, with a certificate, and one that is refused for the lack of it.

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, describe, it } = require('node:test');
const { Server } = require('./server.js');

describe('TLS', () => {
  let folder;
  let server;
  const read = (name) => fs.readFileSync(path.join(folder, name));

  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'helenus-tls-'));
    server = await Server.start({ reactor: 'uring', shards: '2', protocol: 4 }, folder);
  });
  after(async () => {
    await server.stop();
    fs.rmSync(folder, { recursive: true });
  });

  it('serves a client with a certificate', async () => {
    const sslOptions = { ca: [read('ca.crt')], cert: read('client.crt'), key: read('client.key'), rejectUnauthorized: true };
    const client = await server.connect({ sslOptions });
    const { rows } = await client.execute('SELECT ssl_enabled FROM system_views.clients');
    assert.ok(rows.length > 0 && rows.every((row) => row.ssl_enabled));
    await client.shutdown();
  });

  it('refuses one without', async () => {
    await assert.rejects(server.connect({ sslOptions: { ca: [read('ca.crt')], rejectUnauthorized: true } }));
  });
});
