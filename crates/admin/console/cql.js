// The CQL box: one statement, its answer page by page.

import { element, say } from './lists.js';
import { count, micros } from './format.js';

const HISTORY_MAX = 50;
// Rows of an answer that the page keeps; who wants more wants a driver.
const ROWS_MAX = 2000;

const at = (id) => document.getElementById(id);

// What was asked last, for the next page of it, and earlier statements. In memory alone: they may hold secrets.
const asked = { body: null, rows: 0, isRunning: false };
const history = { statements: [], place: 0, draft: '' };

export function start() {
  at('cql-form').addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });
  at('statement').addEventListener('keydown', (event) => {
    if (!event.ctrlKey && !event.metaKey) {
      return;
    }
    const does = { Enter: run, ArrowUp: () => recall(-1), ArrowDown: () => recall(1) }[event.key];
    if (does) {
      event.preventDefault();
      does();
    }
  });
  at('more').addEventListener('click', more);
}

function run() {
  const statement = at('statement').value.trim();
  if (statement === '') {
    say(at('cql-state'), 'The statement is missing.');
    return;
  }
  remember(statement);
  const body = { statement };
  for (const field of ['keyspace', 'user', 'password']) {
    const value = at(field).value;
    if (value !== '') {
      body[field] = value;
    }
  }
  send(body, true);
}

function more() {
  send(asked.body, false);
}

async function send(body, isNew) {
  if (asked.isRunning) {
    return;
  }
  setRunning(true);
  say(at('cql-state'), 'running…');
  const began = performance.now();
  try {
    const answer = await post(body);
    show(body, answer, isNew, (performance.now() - began) * 1000);
  } catch (error) {
    fail(error.message);
  }
  setRunning(false);
}

// Not `disabled`, which would take the focus from the button that was pressed.
function setRunning(isRunning) {
  asked.isRunning = isRunning;
  at('run').setAttribute('aria-disabled', isRunning);
  at('more').setAttribute('aria-disabled', isRunning);
}

async function post(body) {
  let response;
  try {
    response = await fetch('/helenus/cql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      cache: 'no-store',
    });
  } catch {
    throw new Error('The node does not answer.');
  }
  const answer = await response.json();
  if (!response.ok) {
    throw new Error(answer.message);
  }
  return answer;
}

function fail(message) {
  say(at('cql-state'), '');
  say(at('cql-error'), message);
  at('cql-error').hidden = false;
  at('result-region').hidden = true;
  at('more').hidden = true;
}

function show(body, answer, isNew, took) {
  if (answer.error) {
    fail(`${answer.error.code}: ${answer.error.message}`);
    if (answer.error.asks_login) {
      at('login').open = true;
      at('user').focus();
    }
    return;
  }
  at('cql-error').hidden = true;
  say(at('cql-error'), '');
  if (answer.keyspace !== null) {
    at('keyspace').value = answer.keyspace;
  }
  if (isNew) {
    asked.rows = 0;
    clear(answer);
  }
  append(answer);
  asked.rows += answer.rows.length;
  const isFull = asked.rows >= ROWS_MAX;
  asked.body = answer.more ? { ...body, page: answer.page } : null;
  at('more').hidden = !answer.more || isFull;
  const rows = `${count(asked.rows)} ${asked.rows === 1 ? 'row' : 'rows'}`;
  const left = answer.more ? (isFull ? '; there are more than this page keeps' : '; there are more') : '';
  const done = answer.columns.length > 0 ? `${rows}${left}` : answer.done ?? 'done';
  const warned = answer.warnings.map((warning) => ` Warning: ${warning}`).join('');
  say(at('cql-state'), `${done}, in ${micros(took)}.${warned}`);
}

// Makes room for another answer's rows.
function clear(answer) {
  const table = at('result');
  table.querySelectorAll('thead, tbody').forEach((part) => part.remove());
  at('result-region').hidden = answer.columns.length === 0;
  const heads = answer.columns.map((column) => element('th', { scope: 'col' }, column.name, ' ', element('span', { class: 'type' }, column.type)));
  table.append(element('thead', {}, element('tr', {}, ...heads)), element('tbody'));
}

function append(answer) {
  const cell = (value) => (value === null ? element('td', { class: 'null' }, 'null') : element('td', {}, value));
  const lines = answer.rows.map((row) => element('tr', {}, ...row.map(cell)));
  at('result').querySelector('tbody').append(...lines);
}

function remember(statement) {
  if (history.statements.at(-1) !== statement) {
    history.statements.push(statement);
  }
  if (history.statements.length > HISTORY_MAX) {
    history.statements.shift();
  }
  history.place = history.statements.length;
}

function recall(step) {
  const place = history.place + step;
  if (place < 0 || place > history.statements.length) {
    return;
  }
  if (history.place === history.statements.length) {
    history.draft = at('statement').value;
  }
  history.place = place;
  at('statement').value = history.statements[place] ?? history.draft;
}
