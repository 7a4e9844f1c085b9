'use strict';
// The console of a new node, as a newcomer meets it: the first table, several statements, the schema, completions, heat, capacities, an hour of charts.
//
// Told by its environment: HELENUS_CONSOLE (where REST listens), HELENUS_NATIVE (where CQL does), HELENUS_BINARY, HELENUS_BROWSER; HELENUS_IMAGES is a folder for
// screenshots, if any are wanted.

const assert = require('node:assert/strict');
const path = require('node:path');
const { walk } = require('./browser.js');
const { Load } = require('./load.js');
const { judged } = require('./sight.js');

// Of a phone, and whatever else a window may be.
const WIDTHS = [280, 320, 360, 480, 600, 768, 1024, 1280, 1920];
// Three lines of words.
const HEAD_MAX = 80;
// The longest that each tile may have to say.
const LONGEST = {
  reads: '99,999', writes: '1.23M', 'read-p99': '999.9 ms', 'write-p99': '1,023 µs', errors: '99,999', connections: '99,999', cores: '127.99', memory: '1,023 GiB',
  disk: '1,023 MiB', uptime: '59 min 59 s',
};

const steps = [];
const step = (name, does) => steps.push([name, does]);

step('invites to make the first table', async (page) => {
  await page.load();
  await page.page.$eval('#tables', (section) => section.scrollIntoView());
  await page.until('it invites', () => !document.getElementById('invitation').hidden && document.getElementById('table-region').hidden);
  assert.doesNotMatch(await page.text('#tables'), /no such table/i);
  await screenshot(page, 'newcomer-first');
  await page.page.$eval('#statement', (box) => { box.value = 'a draft'; });
  await page.page.click('#take-example');
  assert.equal((await page.focused()).id, 'statement');
  assert.match(await box(page), /^CREATE KEYSPACE shop .*'replication_factor': 1\};\nCREATE TABLE shop\.orders/);
  await page.pressWithControl('Enter');
  await page.until('it has run', () => document.getElementById('cql-state').textContent.startsWith('1 row, in'));
  assert.deepEqual(await kept(page), ['created keyspace shop', 'created table shop.orders', 'done']);
  assert.match(await page.text('#result tbody'), /^ada\s.*\sdesk$/);
  // What was in the box is not lost.
  await page.pressWithControl('ArrowUp');
  await page.pressWithControl('ArrowUp');
  assert.equal(await box(page), 'a draft');
  await page.page.$eval('#tables', (section) => section.scrollIntoView());
  await page.until('the table is there', () => document.getElementById('invitation').hidden && /shop\.orders/.test(document.getElementById('table-list').innerText));
  assert.match(await page.text('#table-count'), /^1 table, [\d.,]+ requests a second$/);
  // A filter that nothing passes is another matter.
  await page.page.type('#table-filter', 'nowhere');
  await page.until('it says so', () => document.getElementById('table-region').innerText.includes('There is no such table.') && document.getElementById('invitation').hidden);
  await page.page.$eval('#table-filter', (field) => { field.value = ''; });
});

step('parts a text into statements', async (page) => {
  const told = await page.page.evaluate(async () => {
    const { statements } = await import('/console/cql.js');
    return [
      '', ' ; ;; ', '-- nothing;\n/* at; all */', 'SELECT 1', 'a; b ;c;',
      "INSERT 'it''s; one'; \"odd\"\";name\"; x", 'CREATE FUNCTION f $$ return 1; $$; y', 'a -- one; two\n; b /* ; */ c // d;\n; e',
      "begin unlogged batch\nINSERT a; INSERT 'APPLY BATCH'; apply batch; SELECT b", 'BEGIN BATCH a; b', "'never closed; a", '$$ neither; a', 'a / b; c - d; $1',
      `'${'x'.repeat(60_000)}'; b`,
    ].map((text) => statements(text).map((one) => (one.length > 1000 ? one.length : one)));
  });
  assert.deepEqual(told, [
    [], [], [], ['SELECT 1'], ['a', 'b', 'c'],
    ["INSERT 'it''s; one'", '"odd"";name"', 'x'], ['CREATE FUNCTION f $$ return 1; $$', 'y'], ['a -- one; two', 'b /* ; */ c // d;', 'e'],
    ["begin unlogged batch\nINSERT a; INSERT 'APPLY BATCH'; apply batch", 'SELECT b'], ['BEGIN BATCH a; b'], ["'never closed; a"], ['$$ neither; a'], ['a / b', 'c - d', '$1'],
    [60_002, 'b'],
  ]);
});

step('runs statements in order, and stops at the first error', async (page) => {
  await put(page, "USE shop; BEGIN BATCH INSERT INTO orders (customer, placed, item) VALUES ('bo', now(), 'a; b'); APPLY BATCH; SELECT item FROM orders WHERE customer = 'bo'; SELECT nothing FROM orders; DROP TABLE orders");
  await page.pressWithControl('Enter');
  await page.until('the error is shown', () => !document.getElementById('cql-error').hidden);
  assert.match(await page.text('#cql-error'), /^Statement 4 of 5: Invalid: /);
  assert.deepEqual(await kept(page), ['using keyspace shop', 'done', '1 row']);
  assert.equal(await page.text('#earlier .told:last-child tbody'), 'a; b');
  // The last one was not run. An answer of one statement takes the place of all.
  await put(page, 'SELECT count(*) FROM orders;');
  await page.pressWithControl('Enter');
  await page.until('it has run', () => document.getElementById('cql-state').textContent.startsWith('1 row, in'));
  assert.deepEqual([await page.text('#result tbody'), await kept(page)], ['2', []]);
  await put(page, 'USE shop;'.repeat(51));
  await page.pressWithControl('Enter');
  await page.until('it is refused', () => document.getElementById('cql-error').innerText.startsWith('51 statements are too many'));
});

step('shows the schema, and follows it', async (page) => {
  await page.page.click('#schema > summary');
  await page.until('it is there', () => document.querySelectorAll('#schema-tree > li').length > 2);
  assert.equal(await page.text('#schema-tree > li:first-child summary'), 'shop');
  await page.page.click('#schema-tree > li:first-child summary');
  await page.page.click('[id="in shop.orders"] > summary');
  assert.deepEqual(await page.page.$$eval('[id="in shop.orders"] li', (all) => all.map((one) => one.innerText)), [
    'customer text, partition key', 'placed timeuuid, clustering key', 'item text',
  ]);
  await put(page, 'ALTER TABLE shop.orders ADD tags set<text>; CREATE TABLE shop."Odd" (p int, "Q" int, s int static, c int, PRIMARY KEY ((p, "Q"), c));');
  await page.pressWithControl('Enter');
  await page.until('it is followed, and stays open', () => document.querySelectorAll('[id="in shop.orders"][open] li').length === 4);
  await page.page.click('[id="in shop.Odd"] > summary');
  assert.deepEqual(await page.page.$$eval('[id="in shop.Odd"] li', (all) => all.map((one) => one.innerText)), [
    'p int, partition key', 'Q int, partition key', 'c int, clustering key', 's int, static',
  ]);
  assert.deepEqual(await judged(page), []);
});

step('completes words', async (page) => {
  const told = await page.page.evaluate(async () => {
    const { completions } = await import('/console/cql.js');
    const column = (name) => ({ name, type: 'int', kind: 'regular' });
    const keyspaces = new Map([['shop', { orders: [column('item'), column('In Use')], Odd: [column('q')] }], ['other', { odds: [column('r')] }]]);
    return [
      ['SEL'], ['SELECT * FROM o', '', 'shop'], ['SELECT * FROM shop.'], ['SELECT * FROM shop.OR'], ['USE '], ['USE s'], ['SELECT i', ' FROM shop.orders'], ['SELECT i', ' FROM other.odds'],
      ["SELECT 'se"], ['SELECT -- se'], ['SELECT $$ se'], ['SELECT 1'], [''], ['nothinglikeit'], ['SELECT * FROM nowhere.'],
    ].map(([before, after = '', keyspace = '']) => completions(before, before + after, keyspace, keyspaces).words);
  });
  assert.deepEqual(told, [
    ['SELECT'], ['orders', '"Odd"', 'other'], ['orders', '"Odd"'], ['orders'], [], ['shop'], ['item', '"In Use"', 'IF', 'IN', 'INDEX', 'INSERT', 'INTO'], ['IF', 'IN', 'INDEX', 'INSERT', 'INTO'],
    [], [], [], [], [], [], [],
  ]);
  // By the keyboard, as a screen reader hears it.
  await put(page, '');
  await page.page.keyboard.type('sel');
  await page.until('words are offered', () => document.querySelectorAll('#completions:not([hidden]) li').length === 1);
  await page.press('ArrowDown');
  assert.equal(await page.page.$eval('#statement', (on) => document.getElementById(on.getAttribute('aria-activedescendant')).textContent), 'SELECT');
  assert.deepEqual(await judged(page), []);
  await screenshot(page, 'newcomer-completion');
  await page.press('Tab');
  await page.page.keyboard.type(' * FROM shop.or');
  await page.press('ArrowDown', 'Enter');
  assert.equal(await box(page), 'SELECT * FROM shop.orders');
  await page.page.keyboard.type(' w');
  await page.press('Escape');
  assert.equal(await page.page.$eval('#completions', (list) => list.hidden), true);
  // A list of which nothing is chosen takes no key: Tab leaves the box.
  await page.page.keyboard.type('h');
  await page.press('Tab');
  assert.deepEqual([(await page.focused()).id, await box(page)], ['run', 'SELECT * FROM shop.orders wh']);
});

step('has the hottest tables first, and all on demand', async (page) => {
  const many = Array.from({ length: 12 }, (_, index) => `CREATE TABLE shop.t${index} (p int PRIMARY KEY);`).join('');
  await put(page, many);
  await page.pressWithControl('Enter');
  await page.untilWithin(60_000, 'they are made', () => document.getElementById('cql-state').textContent.startsWith('created table shop.t11'));
  await new Load(process.env.HELENUS_NATIVE, ['write', '--rows', '2000']).done();
  const load = new Load(process.env.HELENUS_NATIVE, ['mixed', '--rows', '2000', '--operations', '1000000000', '--distribution', 'uniform']);
  try {
    await page.page.$eval('#tables', (section) => section.scrollIntoView());
    await page.untilWithin(120_000, 'the hot one is first', () => /^ks1\.standard1\s+[\d.,]*[1-9]/.test(document.querySelector('#table-list tbody tr')?.innerText ?? ''));
    assert.match(await page.text('#table-count'), /^15 tables, [\d.,]*[1-9][\d.,]* requests a second$/);
    assert.equal(await rows(page), 10);
    await page.page.click('#all-tables');
    assert.deepEqual([await rows(page), await page.page.$eval('#all-tables', (button) => button.getAttribute('aria-pressed'))], [15, 'true']);
    await page.page.click('#all-tables');
    assert.equal(await rows(page), 10);
    await page.until('latencies are drawn', () => document.getElementById('read-p99').textContent !== '–');
    await screenshot(page, 'newcomer-load');
  } finally {
    await load.stop();
  }
});

step('draws latencies on a logarithmic scale, and an hour', async (page) => {
  const told = await page.page.evaluate(async () => {
    const { Chart, drawn } = await import('/console/charts.js');
    const figure = document.createElement('figure');
    figure.append(document.createElement('figcaption'), document.createElement('div'));
    document.body.append(figure);
    const chart = new Chart(figure.lastChild, { lines: [{ label: 'p50' }, { label: 'p99' }], shown: String, least: 100, mayLog: true });
    const settled = () => new Promise(requestAnimationFrame);
    const seen = async () => { chart.draw(); await settled(); const { x, y } = chart.plot.scales; return { distr: y.distr ?? 1, y: [y.min, y.max], x: x.max - x.min, p50: chart.plot.valToPos(400, 'y') / chart.plot.bbox.height, grid: chart.plot.axes[1].grid.filter(chart.plot, [100, 200, 1000, 2500, 100_000]) }; };
    const now = 1_800_000_000;
    for (let second = 0; second < 8000; second += 1) {
      // A page that was not seen for a minute has a gap.
      if (second < 7900 || second >= 7960) {
        chart.push(now + second, [400, 90_000]);
      }
    }
    const { span, isLog } = drawn;
    const found = {};
    for (const [name, choice] of [['log', { span: 300, isLog: true }], ['linear', { span: 300, isLog: false }], ['hour', { span: 3600, isLog: true }]]) {
      Object.assign(drawn, choice);
      found[name] = await seen();
    }
    Object.assign(drawn, { span, isLog });
    const [times, ...lines] = chart.data;
    const none = new Chart(figure.lastChild, { lines: [{ label: 'a' }], shown: String, mayLog: true });
    none.push(now, [null]);
    none.push(now + 1, [0]);
    await settled();
    const empty = [none.plot.scales.y.min, none.plot.scales.y.max];
    figure.remove();
    return { ...found, points: times.length, kept: times.at(-1) - times[0], gaps: lines[0].filter((value) => value === null).length, empty };
  });
  assert.deepEqual([told.log.distr, told.log.y, told.log.x], [3, [100, 100_000], 300]);
  assert.deepEqual([told.linear.distr, told.linear.y, told.hour.x], [1, [0, 99_000.00000000001], 3600]);
  // Lines across at powers of ten alone: those of all digits were bands of grey.
  assert.deepEqual([told.log.grid, told.linear.grid], [[100, null, 1000, null, 100_000], [100, 200, 1000, 2500, 100_000]]);
  // The 50th percentile lies on the ground of the one scale, and stands out on the other.
  assert.ok(told.log.p50 < 0.85 && told.linear.p50 > 0.95, JSON.stringify(told));
  assert.deepEqual([told.kept, told.gaps], [3600, 1]);
  assert.ok(told.points <= 3700);
  assert.ok(told.empty[0] > 0 && told.empty[1] > told.empty[0], JSON.stringify(told.empty));
  // The choices are remembered.
  assert.deepEqual(await choices(page), [true, '300']);
  await page.page.click('#log');
  await page.page.select('#span', '3600');
  await page.load();
  assert.deepEqual(await choices(page), [false, '3600']);
  await page.page.click('#log');
  await page.page.select('#span', '300');
});

step('tells what is used from what there is', async (page) => {
  await page.page.$eval('#caches', (section) => section.scrollIntoView());
  await page.until('each cache has a row', () => document.querySelectorAll('#cache-list tbody tr').length >= 4);
  const [heads, lines] = await page.page.evaluate(() => [
    [...document.querySelectorAll('#cache-list thead th')].map((head) => head.innerText),
    [...document.querySelectorAll('#cache-list tbody tr')].map((line) => [...line.children].slice(0, 4).map((cell) => cell.innerText.trim())),
  ]);
  assert.deepEqual(heads.slice(1, 4), ['used', 'capacity', 'used of capacity']);
  const memory = await (await fetch(new URL('/helenus/memory', process.env.HELENUS_CONSOLE))).json();
  const capacity = Object.fromEntries(lines.map(([name, , there]) => [name, there]));
  const mebibytes = (bytes) => { const many = bytes / 2 ** 20; return `${many >= 100 ? Math.round(many) : many.toFixed(1)} MiB`; };
  if (memory.budget < 2 ** 30) {
    assert.equal(capacity['the whole process'], mebibytes(memory.budget));
    assert.equal(capacity['row cache'], mebibytes(memory.rows.budget));
  }
  // What has no capacity has no bar.
  assert.equal(capacity['filters and offsets of open files'], '–');
  const bars = await page.page.$$eval('#cache-list tbody td:nth-child(4) meter', (all) => all.map((bar) => [bar.hidden, bar.value]));
  assert.deepEqual([bars[0][0], bars.at(-1)[0], bars[0][1] > 0 && bars[0][1] <= 1], [false, true, true]);
  assert.match(await page.text('#memory-limit'), /^of [\d.,]+ [KMG]iB$/);
  assert.equal(await page.text('#core-limit'), 'of 2');
});

step('fits at every width', async (page) => {
  await page.page.click('#pause');
  await page.page.evaluate((longest) => Object.entries(longest).forEach(([id, text]) => { document.getElementById(id).textContent = text; }), LONGEST);
  for (const width of WIDTHS) {
    await page.page.setViewport({ width, height: 800 });
    await page.until(`the charts fit ${width}`, () => document.documentElement.scrollWidth <= innerWidth);
    const wrong = await page.page.evaluate(() => [...document.querySelectorAll('.tiles dd')].filter((value) => value.scrollWidth > value.clientWidth || (!value.matches('.limit') && value.clientHeight > 32) || value.getBoundingClientRect().right > value.parentElement.getBoundingClientRect().right).map((value) => value.textContent));
    assert.deepEqual(wrong, [], `at ${width}`);
    // A list that is wider than the window scrolls, its caption does not; nor do heads stand as towers of words.
    const lists = await page.page.evaluate(() => [...document.querySelectorAll('.scroll > table')].filter((list) => list.offsetWidth > 0).map((list) => ({ name: list.caption.textContent, over: list.caption.offsetWidth - list.parentElement.clientWidth, head: list.tHead.offsetHeight })));
    assert.ok(lists.length >= 5, `${lists.length} lists`);
    assert.deepEqual(lists.filter(({ over, head }) => over > 0 || head > HEAD_MAX), [], `at ${width}`);
  }
  for (const theme of ['light', 'dark']) {
    await page.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
    for (const width of [360, 1280]) {
      await page.page.setViewport({ width, height: 800 });
      await screenshot(page, `newcomer-${theme}-${width}`);
    }
  }
  assert.deepEqual(page.complaints, [], 'the browser complained');
});

const box = (page) => page.page.$eval('#statement', (found) => found.value);
const rows = (page) => page.page.$$eval('#table-list tbody tr', (all) => all.length);
const choices = (page) => page.page.evaluate(() => [document.getElementById('log').checked, document.getElementById('span').value]);

// What was said of the statements before the last, without what it took.
const kept = (page) => page.page.$$eval('#earlier .told p', (all) => all.map((one) => one.textContent.replace(/, in .*/, '')));

async function put(page, text) {
  await page.page.$eval('#statement', (found, wanted) => { found.value = wanted; found.focus(); }, text);
}

async function screenshot(page, name) {
  const folder = process.env.HELENUS_IMAGES;
  if (folder) {
    await page.page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  }
}

walk(process.env.HELENUS_CONSOLE, steps);
