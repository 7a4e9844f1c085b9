// The page's clock: asks for pulses while the page is seen, and hands them to whoever shows them.

import { between, tablesBetween } from './rates.js';
import { NONE, bytes, clock, count, duration, micros, percent, rate } from './format.js';
import { Chart, drawn } from './charts.js';
import { List, at, element, figure, label, on, tell } from './lists.js';
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
const HOTTEST_MAX = 10;

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

const MEMORY_WORDS = { process: 'the whole process', rows: 'row cache', index_pages: 'index page cache', files: 'filters and offsets of open files' };

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

const heat = (row) => (row.readRate ?? 0) + (row.writeRate ?? 0);
const part = (used, whole) => (whole > 0 ? used / whole : null);
const waits = (row) => row.reads_waiting + row.writes_waiting;

const lists = {
  latencies: new List(at('latencies'), {
    key: (row) => row.name,
    empty: '',
    columns: [
      { title: 'requests', text: (row) => row.name },
      figure('a second', 'rate', rate),
      figure('mean', 'mean', micros),
      figure('p50', 'p50', micros),
      figure('p95', 'p95', micros),
      figure('p99', 'p99', micros),
      figure('p99.9', 'p999', micros),
    ],
  }),
  ring: new List(at('ring-requests'), {
    key: (row) => row.name,
    empty: '',
    columns: [
      { title: 'requests', text: (row) => RING_WORDS[row.name] },
      figure('a second', 'rate', rate),
      figure('since the start', 'all', count),
    ],
  }),
  shards: new List(at('shard-list'), {
    key: (row) => row.shard,
    empty: 'Nothing is known yet.',
    columns: [
      { title: 'shard', text: (row) => String(row.shard) },
      figure('load', 'load', percent, true),
      figure('requests a second', 'requestRate', rate),
      figure('connections', 'connections', count),
      figure('under way', 'requests_under_way', count),
      { title: 'reads and writes that wait', value: waits, text: (row) => count(waits(row)) },
      {
        title: 'memtables, used of capacity',
        value: (row) => row.memtable_bytes,
        text: (row) => `${bytes(row.memtable_bytes)} of ${bytes(row.memtable_budget)}`,
        meter: (row) => part(row.memtable_bytes, row.memtable_budget),
      },
      figure('sent to other shards a second', 'crossedRate', rate),
      figure('stalls over 1 ms', 'stalls_over_1ms', count),
      figure('refused, overloaded', 'overloaded', count),
    ],
  }),
  caches: new List(at('cache-list'), {
    key: (row) => row.name,
    empty: 'Nothing is known yet.',
    columns: [
      { title: 'memory of', text: (row) => MEMORY_WORDS[row.name] ?? row.name },
      figure('used', 'used', bytes),
      figure('capacity', 'budget', bytes),
      { title: 'used of capacity', value: (row) => part(row.used, row.budget), text: (row) => percent(part(row.used, row.budget)), meter: (row) => part(row.used, row.budget) },
      { title: 'asked a second', value: (row) => row.asked, text: (row) => rate(row.asked / row.seconds) },
      figure('found, last second', 'hitPart', percent),
      figure('found since the start', 'hitPartEver', percent, true),
    ],
  }),
  compactions: new List(at('compaction-list'), {
    key: (row) => row.id,
    empty: 'Nothing is being compacted.',
    columns: [
      { title: 'table', text: (row) => `${row.ks}.${row.cf}` },
      figure('shard', 'shard', String),
      {
        title: 'written',
        value: (row) => row.completed,
        text: (row) => `${bytes(row.completed)} of ${bytes(row.total)}`,
        meter: (row) => part(row.completed, row.total),
      },
    ],
  }),
  tables: new List(at('table-list'), {
    key: (row) => `${row.keyspace}.${row.table}`,
    empty: '',
    most: HOTTEST_MAX,
    sorted: { index: 1, order: 'descending' },
    columns: [
      { title: 'table', text: (row) => `${row.keyspace}.${row.table}` },
      { title: 'requests a second', value: heat, text: (row) => (row.readRate === null ? NONE : rate(heat(row))) },
      figure('on disk', 'bytes_live', bytes),
      figure('in memory', 'memtable_bytes', bytes),
      figure('snapshots', 'bytes_snapshots', bytes),
      figure('sstables', 'sstables', count),
      figure('partitions, at most', 'partitions_estimate', count),
      figure('largest partition', 'partition_bytes_max', bytes),
      figure('droppable tombstones', 'droppable_tombstone_ratio', percent, true),
      figure('reads a second', 'readRate', rate),
      figure('writes a second', 'writeRate', rate),
      figure('read, mean', 'read_latency_us_mean', micros),
      figure('write, mean', 'write_latency_us_mean', micros),
      figure('waits for compaction', 'pending_compactions', count),
    ],
  }),
  queries: new List(at('query-list'), {
    // Two of one client in one millisecond differ in what they took, or are alike.
    key: (row) => [row.when, row.shard, row.client, row.micros, row.bytes, row.statement].join(' '),
    empty: 'None so far.',
    sorted: { index: 1, order: 'descending' },
    columns: [
      { title: 'statement', text: (row) => row.statement, code: true },
      figure('when', 'when', clock),
      figure('took', 'micros', micros),
      figure('answer', 'bytes', bytes),
      { title: 'kind', text: (row) => row.kind ?? NONE },
      { title: 'keyspace', text: (row) => row.keyspace ?? NONE },
      figure('shard', 'shard', count),
      { title: 'client', text: (row) => row.client ?? NONE },
    ],
  }),
};

startCharts();
const LATENCY_LINES = [{ label: 'p50' }, { label: 'p99', dash: [6, 3] }, { label: 'p99.9', dash: [2, 2] }];
const charts = {
  throughput: new Chart(at('throughput'), { lines: [{ label: 'reads' }, { label: 'writes', dash: [6, 3] }, { label: 'other', dash: [2, 2] }], shown: rate, least: 10 }),
  load: new Chart(at('load'), { lines: [{ label: 'shard 0' }], shown: (value) => (value === null || value === undefined ? NONE : `${Math.round(value)} %`), least: 100 }),
  reads: new Chart(at('read-latency'), { lines: LATENCY_LINES, shown: micros, least: 100, mayLog: true }),
  writes: new Chart(at('write-latency'), { lines: LATENCY_LINES, shown: micros, least: 100, mayLog: true }),
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
  tell('state', words);
  at('state').dataset.kind = kind;
}

function showPulse(pulse) {
  showState(!pulse.is_served ? 'ending' : pulse.mode === 'NORMAL' ? 'live' : pulse.mode.toLowerCase(), pulse.is_served ? 'good' : 'bad');
  at('logout').hidden = !pulse.role;
  tell('disk', bytes(pulse.disk_bytes));
  tell('uptime', duration(pulse.uptime_ms));
  const { resident, budget, memtables, files } = pulse.memory;
  tell('memory', bytes(resident));
  tell('memory-limit', `of ${bytes(budget)}`);
  at('memory-part').value = part(resident, budget) ?? 0;
  tell('connections', count(pulse.shards.reduce((sum, shard) => sum + shard.connections, 0)));
  // A node alone has no ring to show: its section is hidden, and so never seen.
  at('ring').hidden = at('ring-link').hidden = !(pulse.nodes > 1);
  lists.compactions.update(pulse.compactions.running);
  const since = heard.pulse && between(heard.pulse, pulse);
  heard.pulse = pulse;
  if (!since) {
    return;
  }
  tell('reads', rate(since.reads.rate));
  tell('writes', rate(since.writes.rate));
  tell('read-p99', micros(since.reads.p99));
  tell('write-p99', micros(since.writes.p99));
  tell('errors', rate(since.errors));
  tell('cores', since.cores === null ? NONE : since.cores.toFixed(2));
  tell('core-limit', `of ${pulse.shards.length}`);
  at('core-part').value = part(since.cores, pulse.shards.length) ?? 0;
  const { running, pending, completed, throughput } = pulse.compactions;
  const limit = throughput > 0 ? `, of ${bytes(throughput)} allowed` : ', without a limit';
  tell('compaction-summary', `${running.length} running, ${count(pending)} pending, ${count(completed)} done since the start; ${bytes(since.compacted)} written a second${limit}.`);
  lists.latencies.update([
    { name: 'reads', ...since.reads }, { name: 'writes and batches', ...since.writes }, { name: 'prepare, schema and others', ...since.others },
  ]);
  lists.ring.update(Object.keys(RING_WORDS).flatMap((name) => since.ring.filter((row) => row.name === name)));
  lists.shards.update(since.shards);
  const caches = since.caches.map((cache) => ({ ...cache, seconds: since.seconds }));
  lists.caches.update([{ name: 'process', used: resident, budget }, { name: 'memtables', ...memtables }, ...caches, { name: 'files', used: files }]);
  const now = Date.now() / 1000;
  charts.load.relabel(shardLines(since.shards));
  charts.throughput.push(now, [since.reads.rate, since.writes.rate, since.others.rate]);
  charts.load.push(now, shardValues(since.shards));
  charts.reads.push(now, [since.reads.p50, since.reads.p99, since.reads.p999]);
  charts.writes.push(now, [since.writes.p50, since.writes.p99, since.writes.p999]);
}

function showTables() {
  const all = heard.tables ?? [];
  const wanted = at('table-filter').value.toLowerCase();
  const meant = all.filter((table) => `${table.keyspace}.${table.table}`.toLowerCase().includes(wanted));
  at('table-region').hidden = all.length === 0;
  at('invitation').hidden = all.length > 0;
  tell('example', example(heard.pulse?.nodes));
  lists.tables.empty = all.length > 0 ? 'There is no such table.' : '';
  lists.tables.update(meant);
  at('all-tables').hidden = meant.length <= HOTTEST_MAX;
  const told = meant.reduce((sum, table) => sum + heat(table), 0);
  tell('table-count', `${count(meant.length)} ${meant.length === 1 ? 'table' : 'tables'}, ${rate(told)} requests a second`);
}

// The first statements of a newcomer.
function example(nodes) {
  return `CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': ${Math.min(3, nodes ?? 1)}};
CREATE TABLE shop.orders (customer text, placed timeuuid, item text, PRIMARY KEY (customer, placed));
INSERT INTO shop.orders (customer, placed, item) VALUES ('ada', now(), 'desk');
SELECT * FROM shop.orders;`;
}

// How charts are drawn is remembered, if the browser keeps anything.
function startCharts() {
  try {
    Object.assign(drawn, JSON.parse(localStorage['helenus-charts']));
  } catch { /* none */ }
  at('log').checked = drawn.isLog;
  at('span').value = String(drawn.span);
  const change = () => {
    Object.assign(drawn, { isLog: at('log').checked, span: Number(at('span').value) });
    document.dispatchEvent(new Event('chartchange'));
    try {
      localStorage['helenus-charts'] = JSON.stringify(drawn);
    } catch { /* none */ }
  };
  on('log', 'change', change);
  on('span', 'change', change);
}

async function askNode() {
  const [version, cluster, datacenter] = await Promise.all(['/helenus/version', '/storage_service/cluster_name', '/snitch/datacenter'].map(get));
  const shards = version.shards === 1 ? '1 shard' : `${version.shards} shards`;
  tell('node', `${cluster}, ${datacenter} · ${location.host} · Helenus ${version.helenus} (as Cassandra ${version.cassandra}) · ${shards}, ${version.reactor}`);
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
  tell('query-state', isThere ? 'Statements that took long, or had long answers.' : 'Not available: this server keeps no list of them.');
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

on('pause', 'click', () => {
  isPaused = !isPaused;
  at('pause').setAttribute('aria-pressed', isPaused);
  if (isPaused) {
    showState('paused', 'idle');
  }
  // What happened meanwhile is no rate of a second.
  heard.pulse = null;
});
on('table-filter', 'input', showTables);
on('all-tables', 'click', () => {
  const isAll = lists.tables.most > HOTTEST_MAX;
  lists.tables.most = isAll ? HOTTEST_MAX : Infinity;
  at('all-tables').setAttribute('aria-pressed', !isAll);
  showTables();
});
on('take-example', 'click', () => cql.put(at('example').textContent));
document.addEventListener('visibilitychange', () => { heard.pulse = null; });
for (const section of document.querySelectorAll('main section')) {
  label(section, section.firstElementChild);
  document.querySelector('nav').append(element('a', { href: `#${section.id}`, id: `${section.id}-link` }, section.firstElementChild.textContent));
}
watch('ring', 'ring');
watch('tables', 'tables');
watch('queries', 'queries');
cql.start();
login.start();
pulse();
