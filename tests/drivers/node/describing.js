'use strict';
// The handshake, keyspaces, tables and types as the driver sees them, and the events that keep its picture true.

const assert = require('node:assert/strict');
const { it } = require('node:test');
const { types } = require('cassandra-driver');
const { waitFor } = require('./server.js');

const { dataTypes } = types;

// The default of `num_tokens`; the real Cassandra that `cargo xtask cassandra` runs has one token.
const TOKENS = process.env.HELENUS_AGAINST ? 1 : 16;

module.exports = (subject) => {
  it('uses the version that was asked for, or steps down to one', async () => {
    assert.equal(subject.client.controlConnection.protocolVersion, subject.protocol);
    // Told none, this driver begins with a version that the server refuses.
    const other = await subject.server.connect({ protocolOptions: {} });
    assert.equal(other.controlConnection.protocolVersion, 4);
    await other.shutdown();
  });

  it('knows the node', () => {
    assert.equal(subject.client.hosts.length, 1);
    const [host] = subject.client.hosts.values();
    assert.deepEqual([host.datacenter, host.rack, host.cassandraVersion, host.tokens.length], ['datacenter1', 'rack1', '5.0.6', TOKENS]);
    assert.ok(host.hostId);
  });

  it('agrees on the schema', async () => {
    assert.equal(await subject.client.metadata.checkSchemaAgreement(), true);
  });

  it('sees a keyspace', async () => {
    await subject.client.metadata.refreshKeyspace('tested');
    const keyspace = subject.client.metadata.keyspaces.tested;
    assert.equal(keyspace.strategy, 'org.apache.cassandra.locator.SimpleStrategy');
    assert.equal(keyspace.strategyOptions.replication_factor, '1');
    assert.equal(keyspace.durableWrites, true);
    assert.ok(subject.client.metadata.keyspaces.system_schema);
  });

  it('sees a table', async () => {
    await subject.client.execute(`CREATE TABLE described (a int, b text, c timestamp, d bigint, s map<text, int> STATIC, "Quoted" blob,
      v frozen<list<uuid>>, w vector<float, 3>, PRIMARY KEY ((a, b), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)
      AND comment = 'it''s said' AND default_time_to_live = 86400 AND gc_grace_seconds = 3600`);
    const table = await subject.client.metadata.getTable('tested', 'described');
    assert.deepEqual(table.partitionKeys.map((column) => column.name), ['a', 'b']);
    assert.deepEqual(table.clusteringKeys.map((column) => column.name), ['c', 'd']);
    assert.deepEqual(table.clusteringOrder, ['DESC', 'ASC']);
    const codes = Object.fromEntries(table.columns.map((column) => [column.name, column.type.code]));
    assert.deepEqual(codes, {
      a: dataTypes.int, b: dataTypes.text, c: dataTypes.timestamp, d: dataTypes.bigint, s: dataTypes.map, Quoted: dataTypes.blob,
      v: dataTypes.list, w: dataTypes.custom,
    });
    assert.ok(table.columnsByName.s.isStatic && table.columnsByName.v.type.options.frozen);
    assert.deepEqual([table.comment, table.defaultTtl, table.gcGraceSeconds], ["it's said", 86400, 3600]);
  });

  it('sees a type', async () => {
    await subject.client.execute('CREATE TYPE inner_described (a int, b frozen<list<text>>)');
    await subject.client.execute('CREATE TYPE outer_described (one frozen<inner_described>, two tuple<int, text>)');
    const outer = await subject.client.metadata.getUdt('tested', 'outer_described');
    assert.deepEqual(outer.fields.map((field) => field.name), ['one', 'two']);
    assert.deepEqual(outer.fields[0].type.info.fields.map((field) => field.type.code), [dataTypes.int, dataTypes.list]);
  });

  it('hears of changes that another client makes', async () => {
    const other = await subject.server.connect();
    const { client } = subject;
    const table = () => other.metadata.getTable('tested', 'announced');
    const type = () => other.metadata.getUdt('tested', 'announced_type');
    // What is asked for once is kept until an event says that it has changed.
    await client.execute('CREATE TABLE announced (a int PRIMARY KEY, b text)');
    await waitFor('a table', table);
    await client.execute('ALTER TABLE announced ADD c int');
    await waitFor('an altered table', async () => (await table()).columnsByName.c);
    await client.execute('DROP TABLE announced');
    await waitFor('no table', async () => !await table());
    await client.execute('CREATE TYPE announced_type (a int)');
    await waitFor('a type', type);
    await client.execute('ALTER TYPE announced_type ADD b text');
    await waitFor('an altered type', async () => (await type()).fields.length === 2);
    await client.execute('DROP TYPE announced_type');
    await waitFor('no type', async () => !await type());
    await client.execute("CREATE KEYSPACE announced WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
    await waitFor('a keyspace', () => other.metadata.keyspaces.announced);
    await client.execute('ALTER KEYSPACE announced WITH durable_writes = false');
    await waitFor('an altered keyspace', () => !other.metadata.keyspaces.announced.durableWrites);
    await client.execute('DROP KEYSPACE announced');
    await waitFor('no keyspace', () => !other.metadata.keyspaces.announced);
    await other.shutdown();
  });
};
