'use strict';
// The page of a study, of recorded results: whether it fits at every width, can be read in light and dark, and shows what failed.
//
// Told by its environment: HELENUS_STUDY (where the page is), HELENUS_BROWSER; HELENUS_IMAGES is a folder for screenshots, if any are wanted.

const assert = require('node:assert/strict');
const path = require('node:path');
const { walk } = require('./browser.js');
const { contrasts, judged } = require('./sight.js');

// Of a phone, and whatever else a window may be.
const WIDTHS = [320, 390, 600, 768, 1280, 1920];
// Letters of drawings, in pixels of the window.
const LETTERS_MIN = 9;
const LETTERS_MAX = 20;
// Pairs of the style sheet's variables, and the contrast that WCAG asks of text (4.5) and of what is drawn (3).
const PAIRS = [
  ...['--text', '--faint', '--good', '--bad'].map((ink) => [ink, '--ground', 4.5]),
  ...[0, 1, 2, 3, 4, 5].map((number) => [`--series-${number}`, '--ground', 3]),
];

const steps = [];
const step = (name, does) => steps.push([name, does]);

step('shows the message of what failed, and folds the rest', async (page) => {
  await page.page.goto(page.url);
  assert.match(await page.text('p.missed + p.missed'), /^Failed: rounds 1 to 3, .*: error: unexpected argument '--rwos' found$/);
  await page.page.click('summary');
  await page.until('it is there', () => document.querySelector('pre').checkVisibility());
  assert.match(await page.text('pre'), /^error: [^]*a similar argument exists: '--rows'/);
});

step('fits at every width', async (page) => {
  // The runs, too, whose lines are the longest texts.
  await page.page.$$eval('details', (all) => all.forEach((one) => { one.open = true; }));
  for (const width of WIDTHS) {
    await page.page.setViewport({ width, height: 800 });
    const { over, outside, letters } = await page.page.evaluate(() => {
      const drawings = [...document.querySelectorAll('svg')];
      const leaves = (drawing, text) => {
        const { x, width } = text.getBBox();
        return x < 0 || x + width > drawing.viewBox.baseVal.width;
      };
      const letter = (drawing) => (parseFloat(getComputedStyle(drawing).fontSize) * drawing.getBoundingClientRect().width) / drawing.viewBox.baseVal.width;
      return {
        // What is wider than the window scrolls by itself, or the page would.
        over: document.documentElement.scrollWidth - innerWidth,
        outside: drawings.flatMap((drawing) => [...drawing.querySelectorAll('text')].filter((text) => leaves(drawing, text)).map((text) => text.textContent)),
        letters: drawings.map(letter),
      };
    });
    assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
    assert.deepEqual(outside, [], `texts leave their drawings at ${width}`);
    assert.ok(letters.length > 20 && letters.every((size) => size >= LETTERS_MIN && size <= LETTERS_MAX), `letters of ${Math.min(...letters)} to ${Math.max(...letters)} pixels at ${width}`);
  }
});

step('has the line at 1 and arrows within the drawing', async (page) => {
  const told = await page.page.evaluate(() => [...document.querySelectorAll('svg[aria-label$="times better"]')].map((drawing) => {
    const inside = (part) => { const { x, width } = part.getBBox(); return x >= 0 && x + width <= drawing.viewBox.baseVal.width; };
    const arrows = [...drawing.querySelectorAll('.arrow')];
    return { lines: drawing.querySelectorAll('path.one').length, one: drawing.querySelector('text.one').textContent, arrows: arrows.length, inside: arrows.every(inside) };
  }));
  assert.deepEqual(told.map(({ lines, one, inside }) => [lines, one, inside]), [[1, '1', true], [1, '1', true]]);
  assert.ok(told[0].arrows > 0);
});

step('can be seen and heard in light and dark', async (page) => {
  for (const theme of ['light', 'dark']) {
    await page.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
    for (const width of [390, 1280]) {
      await page.page.setViewport({ width, height: 800 });
      await screenshot(page, `study-${theme}-${width}`);
    }
    assert.deepEqual(await contrasts(page, PAIRS), [], theme);
    assert.deepEqual(await judged(page), [], theme);
  }
  assert.deepEqual(page.complaints, [], 'the browser complained, or the page asked for something');
});

async function screenshot(page, name) {
  const folder = process.env.HELENUS_IMAGES;
  if (folder) {
    await page.page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  }
}

walk(process.env.HELENUS_STUDY, steps);
