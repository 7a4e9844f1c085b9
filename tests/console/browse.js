'use strict';
// The console as a person uses it: loads, shows load, runs CQL by keyboard alone, in light and dark. The first thing that is wrong ends it.
//
// Told by its environment: HELENUS_CONSOLE (where REST listens), HELENUS_NATIVE (where CQL does), HELENUS_BINARY, HELENUS_BROWSER; HELENUS_IMAGES is a folder for
// screenshots, if any are wanted.

const assert = require('node:assert/strict');
const path = require('node:path');
const { walk } = require('./browser.js');
const { Load, post } = require('./load.js');
const { contrasts, judged } = require('./sight.js');

const URL_OF_CONSOLE = process.env.HELENUS_CONSOLE;
// An aim: no test fails by the clock.
const LOAD_MS_AIM = 1000;
const ROWS = 20_000;
// Stops of the Tab key before the CQL box, at most: links, buttons, lists.
const STOPS_MAX = 60;

const steps = [];
const step = (name, does) => steps.push([name, does]);

step('loads, and is small', async (page) => {
  const loads = [];
  for (let round = 0; round < 3; round += 1) {
    loads.push(await page.load());
  }
  console.log(`  until figures are shown: ${loads.map((load) => `${load.took.toFixed(0)} ms`).join(', ')} (aim ${LOAD_MS_AIM} ms); ${loads[0].bytes} bytes`);
  assert.ok(loads[0].bytes < 150_000, 'the page is too large');
});

step('works out rates and percentiles', async (page) => {
  const told = await page.page.evaluate(async () => {
    const { quantile, between } = await import('/console/rates.js');
    const pulse = (uptime, reads, cpu) => ({
      uptime_ms: uptime, cpu_micros: cpu, bucket_offsets: [1, 10, 100], errors: [], kinds: [{ kind: 'read', micros_sum: reads.reduce((sum, count) => sum + count, 0) * 5, buckets: reads }],
      memory: { resident: 1, rows: { used: 1, budget: 2, hits: cpu, misses: 0 } }, compactions: { bytes: 0 },
      shards: [{ cpu_micros: cpu, requests: reads[0], crossed: 0, stalls_over_1ms: 0 }], ring: { timeouts: reads[0], hints_created: uptime },
    });
    return {
      quantiles: [0.5, 0.9, 0.99, 1].map((part) => quantile([1, 10, 100], [90, 9, 0, 1], part)),
      none: quantile([1, 10, 100], [], 0.5),
      since: between(pulse(1000, [10], 0), pulse(3000, [10, 200], 500_000)),
      restarted: between(pulse(3000, [10], 0), pulse(1000, [0], 0)),
      emptied: between(pulse(1000, [10], 0), pulse(3000, [0], 0)),
    };
  });
  assert.deepEqual(told.quantiles, [1, 1, 10, 100]);
  assert.equal(told.none, null);
  assert.deepEqual([told.since.reads.rate, told.since.reads.p99, told.since.reads.mean], [100, 10, 5]);
  assert.deepEqual([told.since.cores, told.since.shards[0].load], [0.25, 0.25]);
  assert.deepEqual(told.since.caches.map((cache) => [cache.name, cache.hitPart]), [['rows', 1]]);
  assert.deepEqual(told.since.ring, [{ name: 'timeouts', all: 10, rate: 0 }, { name: 'hints_created', all: 3000, rate: 1000 }]);
  assert.deepEqual([told.restarted, told.emptied], [null, null]);
});

step('works out arcs from tokens', async (page) => {
  const told = await page.page.evaluate(async () => {
    const { ARCS_MAX, byOwner, pathOf, rowsOf, sentenceOf, shareArcs, sharesOf, tokenArcs } = await import('/console/ring.js');
    const token = (key, value) => ({ key: String(key), value });
    const quarters = tokenArcs([token(0, 'a'), token(-(2n ** 62n), 'b'), token(2n ** 62n, 'a')]);
    const node = (endpoint, life) => ({ endpoint, host_id: `id-${endpoint}`, datacenter: 'dc1', rack: 'r1', is_local: false, is_up: life?.verdict === 'up', tokens: 1, life });
    const life = (verdict, more) => ({ verdict, since_ms: 65_000, is_ready: true, load_bytes: 5, clock_offset_us: -700_000, clock_error_us: 100, ...more });
    const nodes = [node('a', life('up')), node('b', life('convicted')), node('c', null), node('d', life('up', { is_ready: false, clock_offset_us: 500_050 }))];
    const known = { times: [{ host_id: 'id-b', micros: 410 }], hints: [{ host_id: 'id-c', bytes: 7, files: 1 }] };
    const rows = rowsOf(nodes, sharesOf(quarters), { joining: ['d'], leaving: ['b'], moving: ['c'] }, known);
    return {
      quarters, shares: [...sharesOf(quarters)], ofA: byOwner(quarters).get('a'),
      alone: tokenArcs([token(5, 'a')]), none: tokenArcs([]),
      ends: tokenArcs([token(-(2n ** 63n), 'a'), token(2n ** 63n - 1n, 'b')]),
      parts: shareArcs([{ key: 'a', value: '0.25' }, { key: 'b', value: '0.75' }]),
      cut: shareArcs(Array.from({ length: ARCS_MAX + 1 }, () => ({ key: 'a', value: '0' }))).length,
      whole: pathOf([{ from: 0, to: 1 }], 100), half: pathOf([{ from: 0.25, to: 0.75 }], 100), nothing: pathOf([], 100),
      rows: rows.map((row) => [row.letters, row.seen, row.share, row.clock.words, row.series]),
      known: rows.map((row) => [row.answers, row.hints]),
      sentences: [sentenceOf(rows, 12), sentenceOf([rows[0], rows[3]], null)],
    };
  });
  const arc = (owner, from, to) => ({ owner, from, to });
  assert.deepEqual(told.quarters, [arc('b', -0.25, 0.25), arc('a', 0.25, 0.5), arc('a', 0.5, 0.75)]);
  assert.deepEqual([told.shares, told.ofA], [[['b', 0.5], ['a', 0.5]], told.quarters.slice(1)]);
  // One token owns all, and none nothing.
  assert.deepEqual([told.alone[0].to - told.alone[0].from, told.none], [1, []]);
  assert.deepEqual(told.ends, [arc('a', 0, 0), arc('b', 0, 1)]);
  assert.deepEqual([told.parts, told.cut], [[arc('a', 0, 0.25), arc('b', 0.25, 1)], 4096]);
  assert.equal(told.whole, 'M 0.000 -100.000 A 100 100 0 0 1 0.000 100.000 A 100 100 0 0 1 -0.000 -100.000');
  // From the right over the bottom to the left, with a gap of a twelve-hundredth of a turn.
  assert.equal(told.half, 'M 100.000 0.262 A 100 100 0 0 1 0.000 100.000 A 100 100 0 0 1 -100.000 0.262');
  assert.equal(told.nothing, '');
  assert.deepEqual(told.rows, [
    ['UN', 'up for 1 min 5 s', 0.5, '−700 ms ± 100 µs, wrong: check both clocks', 1],
    ['DL', 'down for 1 min 5 s: does not answer', 0.5, '−700 ms ± 100 µs, wrong: check both clocks', 2],
    ['DM', 'down', null, '–', 3],
    ['UJ', 'up for 1 min 5 s; does not accept clients', null, '+500 ms ± 100 µs', 4],
  ]);
  assert.deepEqual(told.known, [[null, 0], [410, 0], [null, 7], [null, 0]]);
  assert.deepEqual(told.sentences, [
    '4 nodes, 12 token ranges. 2 are down: b, c.',
    '2 nodes, more than 4,096 token ranges: one arc per node, as long as its share. All are up.',
  ]);
});

step('shows no ring of a node alone', async (page) => {
  const asked = [];
  const note = (request) => asked.push(request.url());
  page.page.on('request', note);
  await page.page.$eval('#shards', (section) => section.scrollIntoView());
  await page.page.waitForResponse((response) => response.url().endsWith('/helenus/console'));
  await page.page.waitForResponse((response) => response.url().endsWith('/helenus/console'));
  page.page.off('request', note);
  assert.deepEqual(await page.page.$$eval('#ring, #ring-link', (all) => all.map((one) => one.hidden)), [true, true]);
  assert.deepEqual(asked.filter((url) => url.endsWith('/helenus/nodes')), []);
});

step('draws a large ring within bounds', async (page) => {
  const told = await page.page.evaluate(async () => {
    // The module of the page: its section is hidden here, so nothing else is written to it.
    const { ask } = await import('/console/circle.js');
    const ring = (count, tokens) => {
      const asked = [];
      const names = Array.from({ length: count }, (_, index) => `2001:db8:0:0:0:0:0:${index + 1000}`);
      const answers = {
        '/helenus/nodes': names.map((endpoint, index) => ({ endpoint, datacenter: 'dc1', rack: 'r1', is_local: index === 0, is_up: index !== 7, tokens, life: null })),
        '/storage_service/ownership': names.map((key) => ({ key, value: String(1 / count) })),
        '/storage_service/tokens_endpoint': names.flatMap((value, index) => Array.from({ length: tokens }, (_, token) => ({ key: String(BigInt(token * count + index) * 4_000_000_000_000_000n - 9_000_000_000_000_000_000n), value }))),
      };
      return { asked, get: async (path) => { asked.push(path); return answers[path] ?? []; } };
    };
    const seen = () => ({
      paths: document.querySelectorAll('#ring-arcs path').length,
      arcs: [...document.querySelectorAll('#ring-arcs path')].reduce((sum, path) => sum + path.getAttribute('d').split('M').length - 1, 0),
      down: document.querySelectorAll('#ring-arcs path[data-life="down"]').length,
      rows: document.querySelectorAll('#ring-list tbody tr').length,
      note: document.getElementById('ring-list').nextElementSibling.textContent,
      first: document.querySelector('#ring-list tbody tr').textContent,
      summary: document.getElementById('ring-summary').textContent,
    });
    const [most, more, none] = [ring(256, 16), ring(257, 16), ring(0, 0)];
    await ask(most.get);
    const fine = seen();
    // A long address is narrowed within the circle, while it is pointed at.
    const path = document.querySelector('#ring-arcs path');
    path.dispatchEvent(new Event('pointerenter'));
    const first = document.getElementById('ring-first');
    const pointed = [first.textContent, first.getAttribute('textLength') !== null];
    path.dispatchEvent(new Event('pointerleave'));
    pointed.push(first.textContent, first.getAttribute('textLength') !== null);
    await ask(more.get);
    const coarse = seen();
    await ask(none.get);
    return { fine, pointed, coarse, asked: [most.asked.at(-1), more.asked.at(-1)], left: document.querySelectorAll('#ring-arcs path, #ring-list tbody tr').length };
  });
  assert.deepEqual([told.fine.paths, told.fine.arcs, told.fine.down, told.fine.rows], [256, 4096, 1, 200]);
  assert.equal(told.fine.note, 'and 56 more');
  assert.match(told.fine.first, /^2001:db8:0:0:0:0:0:1007DN/);
  assert.equal(told.fine.summary, '256 nodes, 4,096 token ranges. One is down: 2001:db8:0:0:0:0:0:1007.');
  assert.deepEqual(told.pointed, ['2001:db8:0:0:0:0:0:1000', true, '256 nodes', false]);
  assert.deepEqual([told.coarse.paths, told.coarse.arcs], [257, 257]);
  assert.match(told.coarse.summary, /^257 nodes, more than 4,096 token ranges: one arc per node/);
  assert.deepEqual(told.asked, ['/storage_service/tokens_endpoint', '/storage_service/ownership']);
  assert.equal(told.left, 0);
});

step('shows load while it is there', async (page) => {
  await new Load(process.env.HELENUS_NATIVE, ['write', '--rows', String(ROWS)]).done();
  const load = new Load(process.env.HELENUS_NATIVE, ['mixed', '--rows', String(ROWS), '--operations', '1000000000', '--distribution', 'uniform']);
  try {
    // The first pulse may see the load's first moment only.
    await page.until('the load is shown', () => ['reads', 'writes'].every((id) => Number(document.getElementById(id).textContent.replaceAll(/[^\d.]/g, '')) > 100));
    console.log(`  ${await page.number('#reads')} reads and ${await page.number('#writes')} writes a second`);
    // The next pulses are others.
    const before = await page.text('#reads');
    await page.until('the figure changes', (old) => document.getElementById('reads').innerText !== old, before);
    await page.until('shards have load', () => [...document.querySelectorAll('#shard-list tbody meter')].some((meter) => meter.value > 0.005));
    for (const place of ['#read-p99', '#write-p99']) {
      assert.match(await page.text(place), /^[\d.]+ (µs|ms|s)$/);
    }
    await page.until('a row of latencies is there', () => /reads.*µs/.test(document.getElementById('latencies').innerText));
    await page.until('lines are drawn', drawn);
    await post(URL_OF_CONSOLE, '/storage_service/flush');
    await post(URL_OF_CONSOLE, '/storage_service/keyspace_compaction/ks1');
    await page.until('compactions are counted', () => /[1-9]\d* done since the start/.test(document.getElementById('compaction-summary').textContent));
    await page.page.$eval('#tables', (section) => section.scrollIntoView());
    await page.until('tables have sizes', () => /ks1\.standard1.*[\d.]+ (KiB|MiB)/s.test(document.getElementById('table-list').innerText));
    await page.until('tables have rates', () => [...document.querySelectorAll('#table-list tbody td')].some((cell, index) => index % 13 === 9 && /\d/.test(cell.textContent)));
    await page.page.$eval('#queries', (section) => section.scrollIntoView());
    await page.until('slow queries are told of', () => document.getElementById('query-state').textContent !== '–');
    await screenshot(page, 'console-light.png');
  } finally {
    await load.stop();
  }
});

step('runs CQL by keyboard alone', async (page) => {
  await page.load();
  // The first stop leads there at once.
  await page.press('Tab', 'Enter');
  assert.equal((await page.focused()).id, 'statement');
  // And so do all others: none is a trap, each has a name, and each is seen.
  await page.load();
  let stops = 0;
  for (let on = {}; on.id !== 'statement'; stops += 1) {
    assert.ok(stops < STOPS_MAX, 'the CQL box is not reached');
    await page.press('Tab');
    on = await page.focused();
    assert.ok(on.name !== '' && on.isSeen, `a stop without a name, or not seen: ${JSON.stringify(on)}`);
  }
  console.log(`  the CQL box is stop ${stops}`);
  await page.page.keyboard.type('SELECT key, cluster_name, rack FROM system.local');
  await pressAndAwait(page, '1 row, in');
  assert.deepEqual(await cells(page), [['local', 'Test Cluster', 'rack1']]);
  assert.match(await page.text('#result thead'), /cluster_name\s+text/);

  // Pages, by the button.
  await type(page, 'SELECT "key" FROM ks1.standard1');
  await pressAndAwait(page, '100 rows; there are more');
  for (let on = await page.focused(); on.id !== 'more'; on = await page.focused()) {
    await page.press('Tab');
  }
  await page.press('Enter');
  await page.until('the next page is there', () => document.getElementById('cql-state').textContent.startsWith('200 rows'));
  assert.equal((await cells(page)).length, 200);
  assert.equal((await page.focused()).id, 'more');
});

step('shows errors, keyspaces and values as they are', async (page) => {
  await run(page, 'SELECT * FROM nowhere.nothing', '');
  await page.until('the error is shown', () => document.getElementById('cql-error').innerText.startsWith('Invalid: '));
  await run(page, "CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", 'created keyspace shop');
  assert.equal(await page.page.$eval('#cql-error', (error) => error.hidden), true);
  await run(page, 'USE shop', 'using keyspace shop');
  assert.equal(await page.page.$eval('#keyspace', (field) => field.value), 'shop');
  await run(page, 'CREATE TABLE orders (customer text, placed timestamp, item text, tags set<text>, price decimal, PRIMARY KEY (customer, placed))', 'created table shop.orders');
  const hostile = '<img src=/nothing onerror=alert(1)>';
  await run(page, `INSERT INTO orders (customer, placed, item, tags, price) VALUES ('ada', '2026-11-01', '${hostile}', {'new', 'old'}, 19.90)`, 'done');
  await run(page, "INSERT INTO orders (customer, placed, item, price) VALUES ('ada', '2026-11-07', 'desk', 240.00)", 'done');
  await run(page, 'SELECT customer, item, tags, price FROM orders', '2 rows');
  assert.deepEqual(await cells(page), [['ada', hostile, "{'new', 'old'}", '19.90'], ['ada', 'desk', 'null', '240.00']]);
  assert.equal(await page.page.$('#result img'), null);
  // The statement before comes back, and what was being written after it.
  await type(page, 'half a statement');
  await page.pressWithControl('ArrowUp');
  assert.match(await page.page.$eval('#statement', (box) => box.value), /^SELECT customer/);
  await page.pressWithControl('ArrowDown');
  assert.equal(await page.page.$eval('#statement', (box) => box.value), 'half a statement');
});

step('is seen and heard in light and dark', async (page) => {
  for (const theme of ['light', 'dark']) {
    await page.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
    await page.until(`it is ${theme}`, (wanted) => document.documentElement.dataset.theme === wanted, theme);
    assert.deepEqual(await contrasts(page), [], theme);
    assert.deepEqual(await judged(page), [], theme);
    await type(page, 'SELECT customer, placed, tags, price FROM shop.orders');
    await pressAndAwait(page, '2 rows');
  }
  await screenshot(page, 'console-dark.png');
  // The button stands above the system, and is remembered.
  await page.page.click('#theme');
  assert.deepEqual([await page.text('#theme'), await page.page.$eval('html', (root) => root.dataset.theme)], ['Theme: light', 'light']);
  await page.load();
  assert.equal(await page.page.$eval('html', (root) => root.dataset.theme), 'light');
  // Narrow, nothing sticks out.
  await page.page.setViewport({ width: 360, height: 800 });
  await page.until('it fits', () => document.documentElement.scrollWidth <= 360);
});

step('rests when told to, and says when the node is away', async (page) => {
  await page.load();
  await page.page.click('#pause');
  await page.until('it rests', () => document.getElementById('state').textContent === 'paused');
  await page.page.click('#pause');
  await page.until('it goes on', () => document.getElementById('state').textContent === 'live');
  assert.deepEqual(page.complaints, [], 'the browser complained');
  // From here on the browser has reason to.
  await page.page.setOfflineMode(true);
  await page.until('it says so', () => document.getElementById('state').textContent.startsWith('no answer'));
  await page.page.setOfflineMode(false);
  await page.until('it goes on', () => document.getElementById('state').textContent === 'live');
});

// Whether each chart has pixels that are coloured, which axes and grid are not.
function drawn() {
  const charts = [...document.querySelectorAll('.chart canvas')];
  return charts.length === 4 && charts.every((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let at = 0; at < data.length; at += 4) {
      const [low, high] = [Math.min(data[at], data[at + 1], data[at + 2]), Math.max(data[at], data[at + 1], data[at + 2])];
      coloured += data[at + 3] > 128 && high - low > 80 ? 1 : 0;
    }
    return coloured > 20;
  });
}

async function cells(page) {
  return page.page.$$eval('#result tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText)));
}

// Puts another statement into the box.
async function type(page, statement) {
  await page.page.focus('#statement');
  await page.pressWithControl('a');
  await page.page.keyboard.type(statement);
}

// Ctrl+Enter, and until the page says something that begins so.
async function pressAndAwait(page, begins) {
  await page.pressWithControl('Enter');
  await page.until(`it says ${begins}`, (wanted) => {
    const said = document.getElementById('cql-state').textContent;
    return said !== 'running…' && said.startsWith(wanted);
  }, begins);
}

async function run(page, statement, begins) {
  await type(page, statement);
  await pressAndAwait(page, begins);
}

async function screenshot(page, name) {
  const folder = process.env.HELENUS_IMAGES;
  if (folder) {
    await page.page.evaluate(() => scrollTo(0, 0));
    await page.page.screenshot({ path: path.join(folder, name), fullPage: true });
  }
}

walk(URL_OF_CONSOLE, steps);
