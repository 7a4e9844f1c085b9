'use strict';
// A headless browser with one page, and all that went wrong in it.

const puppeteer = require('puppeteer-core');

const PATIENCE_MS = 10_000;

class Page {
  static async open(url) {
    const opened = new Page();
    opened.url = url;
    opened.complaints = [];
    opened.bytes = 0;
    // The browser's own libraries are for it alone; what this process runs with is another matter.
    const { HELENUS_BROWSER: executablePath, HELENUS_BROWSER_LIBRARIES: libraries, HELENUS_BROWSER_FONTS: fonts } = process.env;
    const env = { ...process.env, LANG: 'en_US.UTF-8', LC_ALL: 'en_US.UTF-8', ...(libraries && { LD_LIBRARY_PATH: libraries }), ...(fonts && { FONTCONFIG_PATH: fonts }) };
    // Tests run as root, which its sandbox does not bear; the page is our own.
    const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--font-render-hinting=none', '--lang=en-US'];
    opened.browser = await puppeteer.launch({ executablePath, args, env, headless: 'shell', defaultViewport: { width: 1280, height: 900 } });
    opened.page = await opened.browser.newPage();
    opened.page.setDefaultTimeout(PATIENCE_MS);
    opened.listen();
    return opened;
  }

  // Errors and warnings of the browser's log, scripts that threw, answers that were refusals, and whatever was asked of anyone else.
  listen() {
    const complain = (what) => this.complaints.push(what);
    this.page.on('console', (message) => {
      if (['error', 'warn', 'assert'].includes(message.type())) {
        complain(`log: ${message.text()} ${message.location().url ?? ''}`);
      }
    });
    this.page.on('pageerror', (error) => complain(`thrown: ${error.stack ?? error}`));
    this.page.on('requestfailed', (request) => {
      // A page that is left takes what it asked for with it.
      if (request.failure()?.errorText !== 'net::ERR_ABORTED') {
        complain(`failed: ${request.url()} ${request.failure()?.errorText}`);
      }
    });
    this.page.on('request', (request) => {
      if (!request.url().startsWith(this.url)) {
        complain(`asked elsewhere: ${request.url()}`);
      }
    });
    this.page.on('response', (response) => {
      if (response.status() >= 400) {
        complain(`refused: ${response.status()} ${response.url()}`);
      }
      this.bytes += Number(response.headers()['content-length'] ?? 0);
    });
  }

  // Loads the page until it shows figures. Gives the milliseconds that took, and the bytes that came.
  async load() {
    this.bytes = 0;
    const began = performance.now();
    await this.page.goto(this.url);
    await this.until('figures are shown', () => document.getElementById('state').dataset.kind === 'good' && document.getElementById('uptime').textContent !== '–');
    return { took: performance.now() - began, bytes: this.bytes };
  }

  // Waits until something holds within the page.
  until(what, condition, ...given) {
    return this.untilWithin(PATIENCE_MS, what, condition, ...given);
  }

  // The same, for so long at most.
  async untilWithin(timeout, what, condition, ...given) {
    try {
      await this.page.waitForFunction(condition, { polling: 50, timeout }, ...given);
    } catch (error) {
      throw new Error(`waited in vain until ${what}: ${error.message}\n${await this.text('body')}`);
    }
  }

  text(selector) {
    return this.page.$eval(selector, (found) => found.innerText);
  }

  // The number in a tile, with its unit: 12,345 or 1.2M.
  number(selector) {
    return this.page.$eval(selector, (found) => {
      const units = { K: 1e3, M: 1e6 };
      const [, digits, unit] = /^([\d.,]+)\s*([KM]?)/.exec(found.textContent) ?? [null, 'NaN', ''];
      return Number(digits.replaceAll(',', '')) * (units[unit] ?? 1);
    });
  }

  // Presses keys, one after another.
  async press(...keys) {
    for (const key of keys) {
      await this.page.keyboard.press(key);
    }
  }

  async pressWithControl(key) {
    await this.page.keyboard.down('Control');
    await this.page.keyboard.press(key);
    await this.page.keyboard.up('Control');
  }

  // What has the focus: its id, its tag, its name for a screen reader, and whether the eye sees that it has it.
  focused() {
    return this.page.evaluate(() => {
      const on = document.activeElement;
      const labels = [...(on.labels ?? [])].map((label) => label.textContent).join(' ');
      const name = on.getAttribute('aria-label') ?? (on.getAttribute('aria-labelledby') ? document.getElementById(on.getAttribute('aria-labelledby')).textContent : labels || on.textContent);
      return { id: on.id, tag: on.tagName, name: name.trim(), isSeen: getComputedStyle(on).outlineStyle !== 'none' };
    });
  }

  close() {
    return this.browser.close();
  }
}

// Goes through named steps with one page. The first thing that is wrong ends it.
async function walk(url, steps) {
  const page = await Page.open(url);
  try {
    for (const [name, does] of steps) {
      const began = performance.now();
      console.log(`${name}…`);
      await does(page);
      console.log(`  well, in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
  } catch (error) {
    console.log(`${error.stack}\nthe browser's complaints: ${JSON.stringify(page.complaints, null, 2)}`);
    process.exitCode = 1;
  } finally {
    await page.close();
  }
}

module.exports = { Page, walk };
