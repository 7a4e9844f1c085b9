'use strict';
// What the driver makes of a ring of three nodes, of which some are killed.

const assert = require('node:assert/strict');
const { after, before, describe, it } = require('node:test');
const { addresses, areAllUp, command, connectThrough, described, waitFor } = require('./ring.js');

const TOKENS = 16;

describe('a ring', () => {
  const [first, second, third] = addresses();
  let client;

  before(async () => {
    await command('settle');
    client = await connectThrough(first);
  });
  after(() => client?.shutdown());

  // The answer of one node.
  const ask = (address, text) => {
    const host = client.hosts.get(address);
    assert.ok(host, address);
    return client.execute(text, [], { host });
  };
  const coordinator = async () => (await client.execute('SELECT host_id FROM system.local')).first().host_id.toString();

  it('is known whole through each node alone', async () => {
    const known = described(client);
    assert.deepEqual(Object.keys(known), [first, second, third].sort());
    const nodes = Object.values(known);
    assert.equal(new Set(nodes.map((node) => node.id)).size, 3);
    nodes.forEach((node) => assert.deepEqual([node.datacenter, node.rack, node.tokens.length], ['datacenter1', 'rack1', TOKENS]));
    assert.equal(new Set(nodes.flatMap((node) => node.tokens)).size, 3 * TOKENS);
    for (const address of [first, second, third]) {
      const other = await connectThrough(address);
      try {
        assert.deepEqual(described(other), known);
        await waitFor('all nodes are up', () => areAllUp(other));
      } finally {
        await other.shutdown();
      }
    }
  });

  it('has one schema', async () => {
    await client.execute('DROP KEYSPACE IF EXISTS ring');
    const created = await ask(first, "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}");
    assert.ok(created.info.isSchemaInAgreement);
    await ask(second, 'CREATE TABLE ring.made (a int PRIMARY KEY, b text)');
    // The first question after the answer.
    assert.ok(await client.metadata.checkSchemaAgreement());
    for (const [number, address] of [first, second, third].entries()) {
      await ask(address, `INSERT INTO ring.made (a, b) VALUES (${number}, '${address}')`);
      assert.equal((await ask(address, `SELECT b FROM ring.made WHERE a = ${number}`)).first().b, address);
    }
    assert.ok(await client.metadata.getTable('ring', 'made'));
    await client.execute('DROP KEYSPACE ring');
  });

  it('tells one down and one up of a node that is killed and back', async () => {
    await waitFor('all nodes are up', () => areAllUp(client));
    const [known, heard] = [described(client), []];
    const listeners = ['hostDown', 'hostUp', 'hostAdd', 'hostRemove'].map((name) => [name, (host) => heard.push([name, host.address])]);
    listeners.forEach(([name, listener]) => client.on(name, listener));
    await command('kill', '2');
    await waitFor('the driver hears of the end', () => heard.length > 0);
    assert.deepEqual(heard, [['hostDown', second]]);
    await command('start');
    await command('settle');
    await waitFor('the driver hears of the start', () => areAllUp(client) && heard.length > 1);
    assert.deepEqual(described(client), known);
    listeners.forEach(([name, listener]) => client.removeListener(name, listener));
    assert.deepEqual(heard, [['hostDown', second], ['hostUp', second]]);
  });

  it('is known whole after the control connection has failed over', async () => {
    const { controlConnection: control } = client;
    const known = described(client);
    assert.equal(control.host.address, first);
    let isKilled = false;
    const killing = command('kill', '1').then(() => { isKilled = true; });
    await waitFor('another control connection', async () => {
      // None of these fails: the driver asks another node.
      await coordinator();
      return isKilled && control.host && control.host.address !== first && control.connection;
    });
    await killing;
    const coordinators = new Set();
    await waitFor('both other nodes answer', async () => coordinators.add(await coordinator()).size === 2);
    assert.ok(!coordinators.has(known[first].id));
    assert.deepEqual(described(client), known);
    await command('start');
    await waitFor('all nodes are up', () => areAllUp(client));
    assert.deepEqual(described(client), known);
  });
});
