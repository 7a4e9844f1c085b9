'use strict';
// The console of a cluster of three nodes: its ring, by eye, by keyboard and by axe; with a node that does not answer for a while.
//
// Told by its environment: HELENUS_CONSOLE (where REST of the first node listens), HELENUS_NODES (the nodes' addresses), HELENUS_VICTIM (the process of the last
// one); HELENUS_BROWSER; HELENUS_IMAGES is a folder for screenshots, if any are wanted.

const assert = require('node:assert/strict');
const path = require('node:path');
const { walk } = require('./browser.js');
const { contrasts, judged } = require('./sight.js');

const NODES = process.env.HELENUS_NODES.split(',');
const [FIRST, , LAST] = NODES;
const VICTIM = Number(process.env.HELENUS_VICTIM);
// A silent node is convicted within 10 s at most; the page asks every five seconds.
const CONVICTION_MS_MAX = 60_000;
const RING_PATHS = ['/helenus/nodes', '/storage_service/tokens_endpoint', '/storage_service/nodes/joining'];

const steps = [];
const step = (name, does) => steps.push([name, does]);

step('asks for the ring while it is in view', async (page) => {
  const asked = [];
  page.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.page.setViewport({ width: 1280, height: 300 });
  await page.load();
  await page.until('the section is there', () => !document.getElementById('ring').hidden && !document.getElementById('ring-link').hidden);
  // It is far below: three pulses later nothing was asked.
  await page.page.waitForResponse((response) => response.url().endsWith('/helenus/console'));
  await page.page.waitForResponse((response) => response.url().endsWith('/helenus/console'));
  await page.page.waitForResponse((response) => response.url().endsWith('/helenus/console'));
  assert.deepEqual(asked.filter((one) => RING_PATHS.includes(one)), []);
  await page.page.$eval('#ring', (section) => section.scrollIntoView());
  await page.until('the ring is shown', () => document.querySelectorAll('#ring-list tbody tr').length === 3);
  for (const one of RING_PATHS) {
    assert.ok(asked.includes(one), one);
  }
  await page.page.setViewport({ width: 1280, height: 900 });
});

step('shows all nodes with their ranges', async (page) => {
  await page.until('all are up, with loads', (nodes) => {
    const rows = [...document.querySelectorAll('#ring-list tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent.trim()));
    return rows.length === 3 && rows.every((row) => nodes.includes(row[0]) && row[1] === 'UN' && / B|KiB|MiB/.test(row[6]));
  }, NODES);
  const rows = await cells(page);
  assert.deepEqual(rows.map((row) => row[0]), NODES);
  assert.equal(rows[0][2], 'this node');
  assert.match(rows[1][2], /^up for \d/);
  assert.match(rows[1][7], /^[+−][\d.]+ (µs|ms) ± [\d.]+ (µs|ms)$/);
  assert.ok(rows.every((row) => row[3] === 'datacenter1 / rack1'));
  assert.deepEqual(rows.map((row) => row[9]), ['–', '0 B', '0 B'], 'no hints wait');
  assert.equal(rows[0][8], '–', 'this node is not asked');
  const met = await page.page.$$eval('#ring-requests tbody tr', (all) => all.map((row) => [row.children[0].textContent.trim(), row.children[2].textContent.trim()]));
  assert.deepEqual(met.filter(([name]) => name === 'hints kept'), [['hints kept', '0']]);
  const shares = rows.reduce((sum, row) => sum + Number(/[\d.]+/.exec(row[5])[0]), 0);
  assert.ok(Math.abs(shares - 100) < 2, `shares of ${shares} %`);
  const ranges = rows.reduce((sum, row) => sum + Number(row[4]), 0);
  assert.equal(await page.text('#ring-summary'), `3 nodes, ${ranges} token ranges. All are up.`);
  // Each range is one arc of its node's path, and the three have colours of their own.
  const drawn = await page.page.$$eval('#ring-arcs path', (all) => all.map((one) => [one.dataset.node, one.getAttribute('d').split('M').length - 1, getComputedStyle(one).stroke]));
  assert.deepEqual(drawn.map(([node, arcs]) => [node, arcs]).sort(), rows.map((row) => [row[0], Number(row[4])]).sort());
  assert.equal(new Set(drawn.map(([, , stroke]) => stroke)).size, 3);
});

step('shows the ranges of a node by pointer and keyboard', async (page) => {
  await page.page.hover('#ring-list tbody tr:nth-child(2) td:nth-child(4)');
  assert.deepEqual(await chosen(page), { arcs: [NODES[1]], first: NODES[1] });
  await page.page.mouse.move(0, 0);
  assert.deepEqual(await chosen(page), { arcs: [], first: '3 nodes' });
  // From the list's region by Tab over the heads to the nodes, which are one stop.
  await page.page.focus('#ring-list thead tr > :last-child button');
  await page.press('Tab');
  assert.deepEqual([(await page.focused()).name, (await chosen(page)).arcs], [FIRST, [FIRST]]);
  await page.press('ArrowDown', 'ArrowDown');
  assert.deepEqual([(await page.focused()).name, (await chosen(page)).arcs], [LAST, [LAST]]);
  await page.press('ArrowDown', 'Home', 'End', 'ArrowUp', 'Enter');
  assert.deepEqual(await chosen(page), { arcs: [NODES[1]], first: NODES[1] });
  await page.press('Tab');
  assert.equal(await page.page.evaluate(() => document.activeElement.closest('#ring-list')), null, 'the nodes are one stop');
  // It was pressed, and stays.
  assert.deepEqual((await chosen(page)).arcs, [NODES[1]]);
  assert.deepEqual(await pressed(page), [NODES[1]]);
  await page.page.click('#ring-list tbody tr:nth-child(2) button');
  assert.deepEqual(await pressed(page), []);
});

step('marks a node that is down, and not by colour alone', async (page) => {
  await page.page.mouse.move(0, 0);
  await page.page.evaluate(() => document.activeElement.blur());
  process.kill(VICTIM, 'SIGSTOP');
  try {
    await page.untilWithin(CONVICTION_MS_MAX, 'it is down', (last) => [...document.querySelectorAll('#ring-list tbody tr')].some((row) => row.children[0].textContent === last && row.children[1].textContent === 'DN'), LAST);
    const rows = await cells(page);
    assert.deepEqual(rows.map((row) => row[1]), ['DN', 'UN', 'UN'], 'nodes that are down are first');
    assert.match(rows[0][2], /^down for .*: (does not answer|no connection)$/);
    assert.match(await page.text('#ring-summary'), new RegExp(`One is down: ${LAST.replaceAll('.', '\\.')}\\.$`));
    const styles = await page.page.$$eval('#ring-arcs path', (all) => all.map((one) => [one.dataset.node, [parseFloat(getComputedStyle(one).strokeWidth), getComputedStyle(one).strokeDasharray]]));
    const [[widthUp, dashesUp], [widthDown, dashesDown]] = [FIRST, LAST].map((node) => new Map(styles).get(node));
    assert.ok(widthDown < widthUp && dashesDown !== 'none' && dashesUp === 'none', JSON.stringify(styles));
    for (const theme of ['light', 'dark']) {
      await page.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
      await page.until(`it is ${theme}`, (wanted) => document.documentElement.dataset.theme === wanted, theme);
      assert.deepEqual(await contrasts(page), [], theme);
      assert.deepEqual(await judged(page), [], theme);
    }
    await screenshot(page, 'ring-dark.png');
  } finally {
    process.kill(VICTIM, 'SIGCONT');
  }
  await page.untilWithin(CONVICTION_MS_MAX, 'it is up again', () => document.getElementById('ring-summary').textContent.endsWith('All are up.'));
  await page.page.setViewport({ width: 360, height: 800 });
  await page.until('it fits', () => document.documentElement.scrollWidth <= 360);
  assert.deepEqual(page.complaints, [], 'the browser complained');
});

async function cells(page) {
  return page.page.$$eval('#ring-list tbody tr', (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
}

// The nodes whose arcs stand out, and the first line within the circle.
function chosen(page) {
  return page.page.evaluate(() => ({
    arcs: [...document.querySelectorAll('#ring-arcs path.chosen')].map((one) => one.dataset.node),
    first: document.getElementById('ring-first').textContent,
  }));
}

function pressed(page) {
  return page.page.$$eval('#ring-list tbody button[aria-pressed="true"]', (all) => all.map((one) => one.textContent));
}

async function screenshot(page, name) {
  const folder = process.env.HELENUS_IMAGES;
  if (folder) {
    // As high as the page, so that nothing is scrolled beneath the links.
    await page.page.setViewport({ width: 1280, height: 3000 });
    const section = await page.page.$('#ring');
    await section.screenshot({ path: path.join(folder, name) });
    await page.page.setViewport({ width: 1280, height: 900 });
  }
}

walk(process.env.HELENUS_CONSOLE, steps);
