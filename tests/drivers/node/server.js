'use strict';
// A running server, and clients of it. The Python harness starts it, ends it and judges its log.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const cassandra = require('cassandra-driver');

const SUITES = path.join(__dirname, '..');

// The lines of the table that all suites read, or those that `cargo xtask drivers` has chosen for this run: this driver neither compresses
// nor speaks version 5.
function configurations() {
  const table = process.env.HELENUS_CONFIGURATIONS_FILE || path.join(SUITES, 'configurations.txt');
  const lines = fs.readFileSync(table, 'utf8').split('\n');
  return lines.filter((line) => line.startsWith('plain ')).map((line) => {
    const [, reactor, shards, protocol] = line.split(/\s+/);
    return { reactor, shards, protocol: Number(protocol), name: `${reactor}-${shards}-v${protocol}` };
  });
}

class Server {
  // With a folder the server speaks TLS, and the folder gets the certificates; with an authenticator too, clients log in by it.
  static async start({ reactor, shards, protocol }, ...folder) {
    const server = new Server();
    server.protocol = protocol;
    server.process = spawn('python3', [path.join(SUITES, 'python/server.py'), reactor, shards, ...folder], { stdio: ['pipe', 'pipe', 'inherit'] });
    server.ended = once(server.process, 'exit');
    server.lines = readline.createInterface({ input: server.process.stdout });
    const [line] = await Promise.race([
      once(server.lines, 'line'),
      server.ended.then(() => { throw new Error('the server did not start; its words are above'); }),
    ]);
    server.address = line;
    return server;
  }

  // Runs a statement of the owner of the server's process.
  async asOwner(statement) {
    const answered = once(this.lines, 'line');
    this.process.stdin.write(`${statement}\n`);
    const [answer] = await answered;
    if (answer !== 'done') {
      throw new Error(`${statement}: ${answer}`);
    }
  }

  // Ends the server, which must end well and have nothing to complain of.
  async stop() {
    this.process.stdin.end();
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 30_000);
    const [code] = await this.ended;
    clearTimeout(timer);
    if (code !== 0) {
      throw new Error('the server ended badly; its words are above');
    }
  }

  // A connected client; without a version of its own it finds one by itself.
  async connect(options = {}) {
    const client = new cassandra.Client({
      contactPoints: [this.address],
      localDataCenter: 'datacenter1',
      protocolOptions: { maxVersion: this.protocol },
      refreshSchemaDelay: 50,
      socketOptions: { readTimeout: 30_000 },
      ...options,
    });
    await client.connect();
    return client;
  }
}

async function waitFor(what, condition) {
  const deadline = Date.now() + 10_000;
  while (!await condition()) {
    if (Date.now() > deadline) {
      throw new Error(`waited in vain: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

module.exports = { Server, configurations, waitFor };
