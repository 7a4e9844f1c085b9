'use strict';
// The ring of three nodes that `python/ring.py` runs, as the environment names it, and clients of it.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const cassandra = require('cassandra-driver');

const PROGRAM = path.join(__dirname, '../python/ring.py');
// No wait for a condition takes as long on any machine.
const HUNG_MILLIS = 60_000;

// Where the nodes listen.
function addresses() {
  const all = (process.env.HELENUS_RING || '').split(',');
  if (all.length !== 3) {
    throw new Error('HELENUS_RING names no three nodes: `cargo xtask drivers` starts them');
  }
  return all;
}

// Has the ring carry out a command.
async function command(...words) {
  await promisify(execFile)('python3', [PROGRAM, ...words]);
}

// A client that knows one node and asks all of them in turn.
async function connectThrough(address) {
  const client = new cassandra.Client({
    contactPoints: [address],
    localDataCenter: 'datacenter1',
    // The port of nodes that the driver finds by itself.
    protocolOptions: { maxVersion: 4, port: Number(address.split(':')[1]) },
    refreshSchemaDelay: 20,
    policies: {
      loadBalancing: new cassandra.policies.loadBalancing.RoundRobinPolicy(),
      reconnection: new cassandra.policies.reconnection.ConstantReconnectionPolicy(50),
    },
    queryOptions: { isIdempotent: true },
    socketOptions: { readTimeout: 30_000 },
  });
  await client.connect();
  return client;
}

// What the driver knows of each node, by address.
function described(client) {
  const known = client.hosts.values().map((host) => [
    host.address, { id: host.hostId.toString(), datacenter: host.datacenter, rack: host.rack, tokens: [...host.tokens].sort() },
  ]);
  return Object.fromEntries(known.sort());
}

function areAllUp(client) {
  return client.hosts.values().every((host) => host.isUp());
}

async function waitFor(what, condition) {
  const deadline = Date.now() + HUNG_MILLIS;
  while (!await condition()) {
    if (Date.now() > deadline) {
      throw new Error(`waited in vain: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

module.exports = { addresses, areAllUp, command, connectThrough, described, waitFor };
