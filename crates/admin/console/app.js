// The page's clock: asks for pulses while the page is seen, and hands them to whoever shows them.

import { between, tablesBetween } from './rates.js';
import { NONE, bytes, clock, count, duration, micros, percent, rate } from './format.js';
import { Chart } from './charts.js';
import { List, say } from './lists.js';
import * as circle from './circle.js';
import * as cql from './cql.js';
import * as login from './login.js';

const PULSE_MS = 1000;
const TABLES_MS = 5000;
const QUERIES_MS = 3000;
const RING_MS = 5000;
const PATIENCE_MS = 5000;
// More lines than these cannot be told from each other.
const SHARD_LINES_MAX = 8;

const at = (id) => document.getElementById(id);

// What was heard last, and when lists were asked for.
const heard = { pulse: null, tables: null, tablesAt: 0, queriesAt: 0, ringAt: 0, nodeAsked: false };
const seen = { tables: false, queries: false, ring: false };
let isPaused = false;

async function get(path) {
  const response = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
  if (response.status === 401) {
    login.ask();
  }
  if (!response.ok) {
    throw new Error((await response.json()).message);
  }
  return response.json();
}

// In the order in which they are shown.
const RING_WORDS = {
  timeouts: 'timed out: too few replicas answered',
  unavailables: 'unavailable: too few replicas up',
  failures: 'failed: too many replicas refused',
  speculative_retries: 'reads sent to a further replica, one being silent',
  digest_mismatches: 'reads whose replicas differed',
  repaired_blocking: 'partitions repaired by reads',
  planned_again: 'planned again, the ring or a table having changed',
  stale_refusals: 'refused here, planned before such a change',
  hints_created: 'hints kept',
  hints_delivered: 'hints delivered',
  hints_dropped: 'hints dropped: a node misses these writes',
  batch_copies: 'copies of logged batches at other nodes',
};

const waits = (row) => row.reads_waiting + row.writes_waiting;

const lists = {
  latencies: new List(at('latencies'), {
    key: (row) => row.name,
    empty: '',
    columns: [
      { title: 'requests', text: (row) => row.name },
      { title: 'a second', value: (row) => row.rate, text: (row) => rate(row.rate) },
      { title: 'mean', value: (row) => row.mean, text: (row) => micros(row.mean) },
      { title: 'p50', value: (row) => row.p50, text: (row) => micros(row.p50) },
      { title: 'p95', value: (row) => row.p95, text: (row) => micros(row.p95) },
      { title: 'p99', value: (row) => row.p99, text: (row) => micros(row.p99) },
      { title: 'p99.9', value: (row) => row.p999, text: (row) => micros(row.p999) },
    ],
  }),
  ring: new List(at('ring-requests'), {
    key: (row) => row.name,
    empty: '',
    columns: [
      { title: 'requests', text: (row) => RING_WORDS[row.name] },
      { title: 'a second', value: (row) => row.rate, text: (row) => rate(row.rate) },
      { title: 'since the start', value: (row) => row.all, text: (row) => count(row.all) },
    ],
  }),
  shards: new List(at('shard-list'), {
    key: (row) => row.shard,
    empty: 'Nothing is known yet.',
    columns: [
      { title: 'shard', text: (row) => String(row.shard) },
      { title: 'load', value: (row) => row.load, text: (row) => percent(row.load), meter: (row) => row.load },
      { title: 'requests a second', value: (row) => row.requestRate, text: (row) => rate(row.requestRate) },
      { title: 'connections', value: (row) => row.connections, text: (row) => count(row.connections) },
      { title: 'under way', value: (row) => row.requests_under_way, text: (row) => count(row.requests_under_way) },
      { title: 'reads and writes that wait', value: waits, text: (row) => count(waits(row)) },
      {
        title: 'memtables',
        value: (row) => row.memtable_bytes,
        text: (row) => `${bytes(row.memtable_bytes)} of ${bytes(row.memtable_budget)}`,
        meter: (row) => (row.memtable_budget > 0 ? row.memtable_bytes / row.memtable_budget : null),
      },
      { title: 'sent to other shards a second', value: (row) => row.crossedRate, text: (row) => rate(row.crossedRate) },
      { title: 'stalls over 1 ms', value: (row) => row.stalls_over_1ms, text: (row) => count(row.stalls_over_1ms) },
      { title: 'refused, overloaded', value: (row) => row.overloaded, text: (row) => count(row.overloaded) },
    ],
  }),
  caches: new List(at('cache-list'), {
    key: (row) => row.name,
    empty: 'Nothing is known yet.',
    columns: [
      { title: 'cache', text: (row) => ({ rows: 'rows', index_pages: 'index pages' }[row.name] ?? row.name) },
      {
        title: 'in use',
        value: (row) => row.used,
        text: (row) => `${bytes(row.used)} of ${bytes(row.budget)}`,
        meter: (row) => (row.budget > 0 ? row.used / row.budget : null),
      },
      { title: 'asked a second', value: (row) => row.asked, text: (row) => rate(row.asked / row.seconds) },
      { title: 'found, last second', value: (row) => row.hitPart, text: (row) => percent(row.hitPart) },
      { title: 'found since the start', value: (row) => row.hitPartEver, text: (row) => percent(row.hitPartEver), meter: (row) => row.hitPartEver },
    ],
  }),
  compactions: new List(at('compaction-list'), {
    key: (row) => row.id,
    empty: 'Nothing is being compacted.',
    columns: [
      { title: 'table', text: (row) => `${row.ks}.${row.cf}` },
      { title: 'shard', value: (row) => row.shard, text: (row) => String(row.shard) },
      {
        title: 'written',
        value: (row) => row.completed,
        text: (row) => `${bytes(row.completed)} of ${bytes(row.total)}`,
        meter: (row) => (row.total > 0 ? row.completed / row.total : null),
      },
    ],
  }),
  tables: new List(at('table-list'), {
    key: (row) => row.id,
    empty: 'There is no such table.',
    sorted: { index: 1, order: 'descending' },
    columns: [
      { title: 'table', text: (row) => `${row.keyspace}.${row.table}` },
      { title: 'on disk', value: (row) => row.bytes_live, text: (row) => bytes(row.bytes_live) },
      { title: 'in memory', value: (row) => row.memtable_bytes, text: (row) => bytes(row.memtable_bytes) },
      { title: 'snapshots', value: (row) => row.bytes_snapshots, text: (row) => bytes(row.bytes_snapshots) },
      { title: 'sstables', value: (row) => row.sstables, text: (row) => count(row.sstables) },
      { title: 'partitions, at most', value: (row) => row.partitions_estimate, text: (row) => count(row.partitions_estimate) },
      { title: 'largest partition', value: (row) => row.partition_bytes_max, text: (row) => bytes(row.partition_bytes_max) },
      {
        title: 'droppable tombstones',
        value: (row) => row.droppable_tombstone_ratio,
        text: (row) => percent(row.droppable_tombstone_ratio),
        meter: (row) => row.droppable_tombstone_ratio,
      },
      { title: 'reads a second', value: (row) => row.readRate, text: (row) => rate(row.readRate) },
      { title: 'writes a second', value: (row) => row.writeRate, text: (row) => rate(row.writeRate) },
      {
        title: 'read, mean',
        value: (row) => row.read_latency_us_mean,
        text: (row) => micros(row.read_latency_us_mean),
        hidden: (rows) => rows.every((row) => row.read_latency_us_mean === null),
      },
      {
        title: 'write, mean',
        value: (row) => row.write_latency_us_mean,
        text: (row) => micros(row.write_latency_us_mean),
        hidden: (rows) => rows.every((row) => row.write_latency_us_mean === null),
      },
      { title: 'waits for compaction', value: (row) => row.pending_compactions, text: (row) => count(row.pending_compactions) },
    ],
  }),
  queries: new List(at('query-list'), {
    // Two of one client in one millisecond differ in what they took, or are alike.
    key: (row) => [row.when, row.shard, row.client, row.micros, row.bytes, row.statement].join(' '),
    empty: 'None so far.',
    sorted: { index: 1, order: 'descending' },
    columns: [
      { title: 'statement', text: (row) => row.statement, code: true },
      { title: 'when', value: (row) => row.when, text: (row) => clock(row.when) },
      { title: 'took', value: (row) => row.micros, text: (row) => micros(row.micros) },
      { title: 'answer', value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
      { title: 'kind', text: (row) => row.kind ?? NONE },
      { title: 'keyspace', text: (row) => row.keyspace ?? NONE },
      { title: 'shard', value: (row) => row.shard, text: (row) => count(row.shard) },
      { title: 'client', text: (row) => row.client ?? NONE },
    ],
  }),
};

const LATENCY_LINES = [{ label: 'p50' }, { label: 'p99', dash: [6, 3] }, { label: 'p99.9', dash: [2, 2] }];
const charts = {
  throughput: new Chart(at('throughput'), { lines: [{ label: 'reads' }, { label: 'writes', dash: [6, 3] }, { label: 'other', dash: [2, 2] }], shown: rate, least: 10 }),
  load: new Chart(at('load'), { lines: [{ label: 'shard 0' }], shown: (value) => (value === null || value === undefined ? NONE : `${Math.round(value)} %`), least: 100 }),
  reads: new Chart(at('read-latency'), { lines: LATENCY_LINES, shown: micros, least: 100 }),
  writes: new Chart(at('write-latency'), { lines: LATENCY_LINES, shown: micros, least: 100 }),
};

function shardLines(shards) {
  const dashes = [undefined, [6, 3], [2, 2], [8, 3, 2, 3]];
  return shards.length <= SHARD_LINES_MAX
    ? shards.map((shard, index) => ({ label: `shard ${shard.shard}`, dash: dashes[index % dashes.length] }))
    : [{ label: 'busiest' }, { label: 'mean', dash: [6, 3] }, { label: 'idlest', dash: [2, 2] }];
}

function shardValues(shards) {
  const loads = shards.map((shard) => shard.load * 100);
  if (loads.length <= SHARD_LINES_MAX) {
    return loads;
  }
  return [Math.max(...loads), loads.reduce((sum, load) => sum + load, 0) / loads.length, Math.min(...loads)];
}

function showState(words, kind) {
  say(at('state'), words);
  at('state').dataset.kind = kind;
}

function showPulse(pulse) {
  showState(!pulse.is_served ? 'ending' : pulse.mode === 'NORMAL' ? 'live' : pulse.mode.toLowerCase(), pulse.is_served ? 'good' : 'bad');
  at('logout').hidden = !pulse.role;
  say(at('disk'), bytes(pulse.disk_bytes));
  say(at('uptime'), duration(pulse.uptime_ms));
  say(at('memory'), bytes(pulse.memory.resident ?? undefined));
  say(at('connections'), count(pulse.shards.reduce((sum, shard) => sum + shard.connections, 0)));
  // A node alone has no ring to show: its section is hidden, and so never seen.
  at('ring').hidden = at('ring-link').hidden = !(pulse.nodes > 1);
  lists.compactions.update(pulse.compactions.running);
  const since = heard.pulse && between(heard.pulse, pulse);
  heard.pulse = pulse;
  if (!since) {
    return;
  }
  say(at('reads'), rate(since.reads.rate));
  say(at('writes'), rate(since.writes.rate));
  say(at('read-p99'), micros(since.reads.p99));
  say(at('write-p99'), micros(since.writes.p99));
  say(at('errors'), rate(since.errors));
  say(at('cores'), since.cores === null ? NONE : since.cores.toFixed(2));
  const { running, pending, completed, throughput } = pulse.compactions;
  const limit = throughput > 0 ? `, of ${bytes(throughput)} allowed` : ', without a limit';
  say(at('compaction-summary'), `${running.length} running, ${count(pending)} pending, ${count(completed)} done since the start; ${bytes(since.compacted)} written a second${limit}.`);
  lists.latencies.update([
    { name: 'reads', ...since.reads }, { name: 'writes and batches', ...since.writes }, { name: 'prepare, schema and others', ...since.others },
  ]);
  lists.ring.update(Object.keys(RING_WORDS).flatMap((name) => since.ring.filter((row) => row.name === name)));
  lists.shards.update(since.shards);
  lists.caches.update(since.caches.map((cache) => ({ ...cache, seconds: since.seconds })));
  const now = Date.now() / 1000;
  charts.load.relabel(shardLines(since.shards));
  charts.throughput.push(now, [since.reads.rate, since.writes.rate, since.others.rate]);
  charts.load.push(now, shardValues(since.shards));
  charts.reads.push(now, [since.reads.p50, since.reads.p99, since.reads.p999]);
  charts.writes.push(now, [since.writes.p50, since.writes.p99, since.writes.p999]);
}

function showTables() {
  const wanted = at('table-filter').value.toLowerCase();
  const isMeant = (table) => `${table.keyspace}.${table.table}`.toLowerCase().includes(wanted);
  lists.tables.update((heard.tables ?? []).filter(isMeant));
}

async function askNode() {
  const [version, cluster, datacenter] = await Promise.all(['/helenus/version', '/storage_service/cluster_name', '/snitch/datacenter'].map(get));
  const shards = version.shards === 1 ? '1 shard' : `${version.shards} shards`;
  say(at('node'), `${cluster}, ${datacenter} · ${location.host} · Helenus ${version.helenus} (as Cassandra ${version.cassandra}) · ${shards}, ${version.reactor}`);
  heard.nodeAsked = true;
}

async function askTables(now) {
  const seconds = (now - heard.tablesAt) / 1000;
  const tables = await get('/helenus/tables');
  heard.tables = tablesBetween(heard.tables, tables, seconds);
  heard.tablesAt = now;
  showTables();
}

async function askQueries(now, offers) {
  heard.queriesAt = now;
  const isThere = offers.includes('/helenus/slow_queries');
  at('query-region').hidden = !isThere;
  say(at('query-state'), isThere ? 'Statements that took long, or had long answers.' : 'Not available: this server keeps no list of them.');
  if (isThere) {
    lists.queries.update(await get('/helenus/slow_queries'));
  }
}

async function ask() {
  if (!heard.nodeAsked) {
    await askNode();
  }
  showPulse(await get('/helenus/console'));
  const now = performance.now();
  if (seen.tables && (heard.tables === null || now - heard.tablesAt >= TABLES_MS - PULSE_MS / 2)) {
    await askTables(now);
  }
  if (seen.queries && (heard.queriesAt === 0 || now - heard.queriesAt >= QUERIES_MS - PULSE_MS / 2)) {
    await askQueries(now, heard.pulse.offers);
  }
  if (seen.ring && (heard.ringAt === 0 || now - heard.ringAt >= RING_MS)) {
    heard.ringAt = now;
    await circle.ask(get);
  }
}

async function pulse() {
  if (!isPaused && !document.hidden && !login.isAsking()) {
    try {
      await ask();
    } catch (error) {
      // The node may be another one when it comes back.
      Object.assign(heard, { pulse: null, nodeAsked: false });
      showState(`no answer; asking again (${error.message})`, 'bad');
    }
  }
  setTimeout(pulse, PULSE_MS);
}

function watch(id, name) {
  new IntersectionObserver((entries) => { seen[name] = entries.at(-1).isIntersecting; }, { rootMargin: '200px' }).observe(at(id));
}

at('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  at('pause').setAttribute('aria-pressed', isPaused);
  if (isPaused) {
    showState('paused', 'idle');
  }
  // What happened meanwhile is no rate of a second.
  heard.pulse = null;
});
at('table-filter').addEventListener('input', showTables);
document.addEventListener('visibilitychange', () => { heard.pulse = null; });
watch('ring', 'ring');
watch('tables', 'tables');
watch('queries', 'queries');
cql.start();
login.start();
pulse();
