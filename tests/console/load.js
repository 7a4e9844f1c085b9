'use strict';
// Load on the server, and what an operator tells it.

const { spawn } = require('node:child_process');
const { once } = require('node:events');

// The shape of the load is small: the browser shares the machine's cores with the server and with this.
class Load {
  constructor(native, words) {
    this.said = [];
    const all = ['stress', '--raw', ...words, '--node', native, '--connections', '2', '--depth', '4', '--reactor', 'epoll'];
    this.process = spawn(process.env.HELENUS_BINARY, all, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.ended = once(this.process, 'exit');
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on('data', (text) => this.said.push(String(text)));
    }
  }

  // To its own end.
  async done() {
    const [code] = await this.ended;
    if (code !== 0) {
      throw new Error(`the load ended with ${code}: ${this.said.join('')}`);
    }
  }

  // Now.
  async stop() {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

async function post(url, path) {
  const response = await fetch(new URL(path, url), { method: 'POST' });
  if (!response.ok) {
    throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  }
}

module.exports = { Load, post };
