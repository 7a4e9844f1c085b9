'use strict';
// No idempotent request fails while nodes of a ring get into troubles. `python/troubles.py` runs the ring and says when a trouble begins.

const assert = require('node:assert/strict');
const net = require('node:net');
const readline = require('node:readline');
const { after, before, describe, it } = require('node:test');
const cassandra = require('cassandra-driver');
const { addresses } = require('./ring.js');

const { loadBalancing, reconnection, speculativeExecution } = cassandra.policies;
const CLIENT = 'Node';
const WORKERS = 8;
const LANES = 16;
// Each worker writes and reads so often at most.
const PERIOD_MILLIS = 80;
const SPECULATION_MILLIS = 50;
const WRITE = 'INSERT INTO troubles.kept (client, lane, number) VALUES (?, ?, ?)';
const READ = 'SELECT number FROM troubles.kept WHERE client = ? AND lane = ? AND number = ?';
const LANE = 'SELECT number FROM troubles.kept WHERE client = ? AND lane = ?';

function lane(worker, number) {
  return worker * LANES + number % LANES;
}

// What the workers saw since the last trouble began.
class Seen {
  constructor() {
    this.wrong = [];
    this.begin();
  }

  begin() {
    Object.assign(this, { requests: 0, failures: 0, gap: 0, slowest: 0, last: performance.now() });
  }

  note(began, error) {
    const now = performance.now();
    this.requests += 1;
    this.slowest = Math.max(this.slowest, now - began);
    if (error) {
      this.failures += 1;
      this.wrong.push(String(error));
      return;
    }
    this.gap = Math.max(this.gap, now - this.last);
    this.last = now;
  }

  // Ends one trouble's row, and begins another.
  turn() {
    const gap = Math.max(this.gap, performance.now() - this.last);
    const row = [this.requests, this.failures, gap.toFixed(2), this.slowest.toFixed(2)].join(' ');
    this.begin();
    return row;
  }
}

describe('a ring in troubles', () => {
  let client;

  before(async () => {
    const contactPoints = addresses();
    client = new cassandra.Client({
      contactPoints,
      localDataCenter: 'datacenter1',
      protocolOptions: { maxVersion: 4, port: Number(contactPoints[0].split(':')[1]) },
      policies: {
        loadBalancing: new loadBalancing.RoundRobinPolicy(),
        reconnection: new reconnection.ConstantReconnectionPolicy(250),
        speculativeExecution: new speculativeExecution.ConstantSpeculativeExecutionPolicy(SPECULATION_MILLIS, 1),
      },
      queryOptions: { consistency: cassandra.types.consistencies.quorum, isIdempotent: true, prepare: true },
      socketOptions: { readTimeout: 30_000 },
    });
    await client.connect();
  });
  after(() => client?.shutdown());

  it('fails no idempotent request', async () => {
    const seen = new Seen();
    let isOver = false;

    // The rows, or nothing where the request failed.
    const ask = async (text, values) => {
      const began = performance.now();
      try {
        const { rows } = await client.execute(text, values);
        seen.note(began);
        return rows ?? [];
      } catch (error) {
        seen.note(began, error);
        return undefined;
      }
    };
    // Writes rows and reads earlier ones until it is over.
    const work = async (worker) => {
      const kept = [];
      for (let number = 0; !isOver; number += 1) {
        const began = performance.now();
        if (await ask(WRITE, [CLIENT, lane(worker, number), number])) {
          kept.push(number);
        }
        if (kept.length > 0) {
          const earlier = kept[number % kept.length];
          if ((await ask(READ, [CLIENT, lane(worker, earlier), earlier]))?.length === 0) {
            seen.wrong.push(`row ${worker} ${earlier} was acknowledged and is not read`);
          }
        }
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + PERIOD_MILLIS - performance.now())));
      }
      return kept;
    };
    // The acknowledged rows that QUORUM does not read.
    const lost = async (kept) => {
      const there = new Set();
      for (let number = 0; number < WORKERS * LANES; number += 1) {
        for await (const row of client.stream(LANE, [CLIENT, number])) {
          there.add(`${number} ${row.number}`);
        }
      }
      return kept.flatMap((numbers, worker) => numbers.map((number) => `${lane(worker, number)} ${number}`)).filter((key) => !there.has(key));
    };

    const ring = net.connect(process.env.HELENUS_RING_COMMANDS);
    let [working, trouble] = [[], undefined];
    try {
      ring.write(`join ${CLIENT}\n`);
      for await (const line of readline.createInterface({ input: ring })) {
        const row = seen.turn();
        if (trouble === undefined) {
          working = Array.from({ length: WORKERS }, (_, worker) => work(worker));
        } else {
          ring.write(`row ${trouble} ${row}\n`);
        }
        if (line === 'end') {
          break;
        }
        [, trouble] = line.split(' ');
      }
    } finally {
      isOver = true;
    }
    const kept = await Promise.all(working);
    const missing = await lost(kept);
    ring.end(missing.length > 0 ? `lost ${missing.length}\n` : `kept ${kept.flat().length}\n`);
    assert.deepEqual(missing, []);
    assert.deepEqual(seen.wrong, []);
  });
});
