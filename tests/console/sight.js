'use strict';
// Whether the page can be seen and heard: contrasts by the style sheet's variables, and the judgement of axe.

const fs = require('node:fs');

// Pairs of variables, and the contrast that WCAG asks of text (4.5) and of what is drawn (3).
const PAIRS = [
  ...['--ink', '--muted', '--accent', '--bad'].flatMap((ink) => [[ink, '--card', 4.5], [ink, '--ground', 4.5]]),
  ['--on-accent', '--accent', 4.5],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => [`--series-${number}`, '--card', 3]),
];

// Those that are too low, of the console's pairs or of others.
function contrasts(page, pairs = PAIRS) {
  return page.page.evaluate((pairs) => {
    const style = getComputedStyle(document.documentElement);
    const light = (name) => {
      const parts = /^#(..)(..)(..)$/.exec(style.getPropertyValue(name).trim()).slice(1).map((part) => parseInt(part, 16) / 255);
      const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const found = pairs.map(([one, other, least]) => {
      const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
      return { one, other, least, contrast: (high + 0.05) / (low + 0.05) };
    });
    return found.filter(({ contrast, least }) => contrast < least);
  }, pairs);
}

// What axe finds wrong, in words. It is evaluated from outside: the page's policy lets nothing in that is not the page's.
async function judged(page) {
  await page.page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.page.evaluate(() => globalThis.axe.run(document));
  if (found.passes.length < 10) {
    throw new Error('axe looked at next to nothing');
  }
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`);
}

module.exports = { contrasts, judged };
