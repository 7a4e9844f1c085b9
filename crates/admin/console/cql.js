// The CQL box: statements one after another, their answers, the schema and completions.

import { at, element, on, tell } from './lists.js';
import { count, micros } from './format.js';
import { post } from './login.js';

const HISTORY_MAX = 50;
// Rows of an answer that the page keeps.
const ROWS_MAX = 2000;
const STATEMENTS_MAX = 50;
const COLUMNS_MAX = 5000;

const KEYWORDS = `ALLOW FILTERING ALTER AND APPLY BATCH ASC BEGIN BY CLUSTERING CONTAINS COUNT CREATE DELETE DESC DISTINCT DROP EXISTS FROM GRANT GROUP IF IN
INDEX INSERT INTO JSON KEY KEYSPACE LIMIT LIST NOT NULL ON ORDER PARTITION PRIMARY REVOKE ROLE SELECT SET STATIC TABLE TIMESTAMP TO
TOKEN TRUNCATE TTL TYPE UPDATE USE USING VALUES WHERE WITH WRITETIME`.split(/\s/);
// Strings, names in quotes, comments, words, blanks, single characters; what is not closed goes to the end.
const TOKEN = /'(?:[^']+|'')*'?|"(?:[^"]+|"")*"?|\$\$[^]*?(?:\$\$|$)|\/\*[^]*?(?:\*\/|$)|(?:--|\/\/).*|\w+|\s+|[^]/g;
const KINDS = { partition_key: ', partition key', clustering: ', clustering key', static: ', static', regular: '' };

// What was asked last, for the next page of it, and earlier statements. In memory alone: they may hold secrets.
const asked = { body: null, rows: 0, isRunning: false };
const history = { statements: [], place: 0, draft: '' };
// Keyspaces, tables, columns; `isOld` until it is asked for, and after a change.
const schema = { keyspaces: new Map(), isOld: true, hasFailed: false };
const offered = { words: [], length: 0, chosen: -1 };

export function start() {
  on('cql-form', 'submit', (event) => {
    event.preventDefault();
    run();
  });
  on('statement', 'keydown', press);
  on('statement', 'input', suggest);
  on('statement', 'blur', () => offer([]));
  on('statement', 'click', () => offer([]));
  on('completions', 'mousedown', (event) => {
    event.preventDefault();
    const index = offered.words.indexOf(event.target.textContent);
    if (index >= 0) {
      take(index);
    }
  });
  on('schema', 'toggle', () => at('schema').open && askSchema());
  on('more', 'click', more);
}

function press(event) {
  const isWithControl = event.ctrlKey || event.metaKey;
  const takes = offered.chosen >= 0 && (() => take(offered.chosen));
  const does = isWithControl
    ? { Enter: run, ArrowUp: () => recall(-1), ArrowDown: () => recall(1) }[event.key]
    : offered.words.length > 0 && !event.shiftKey && { ArrowDown: () => choose(1), ArrowUp: () => choose(-1), Escape: () => offer([]), Enter: takes, Tab: takes }[event.key];
  if (does) {
    event.preventDefault();
    does();
  } else {
    offer([]);
  }
}

// The statements of a text: what semicolons part, outside of quotes, comments and batches.
export function statements(text) {
  const found = [];
  let [from, words, isThere] = [0, [], false];
  const end = (index) => {
    if (isThere) {
      found.push(text.slice(from, index).trim());
    }
    [from, words, isThere] = [index + 1, [], false];
  };
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === ';' && (words[0] !== 'BEGIN' || words.slice(-2).join(' ') === 'APPLY BATCH')) {
      end(index);
    } else if (!/^(\s|--|\/[/*])/.test(token)) {
      isThere = true;
      words.push(token.toUpperCase());
    }
  }
  end(text.length);
  return found;
}

// Another text in the box; what was there is an earlier one.
export function put(text) {
  const box = at('statement');
  if (box.value.trim() !== '') {
    remember(box.value);
  }
  box.value = text;
  box.focus();
}

async function run() {
  offer([]);
  const text = at('statement').value.trim();
  const all = statements(text);
  if (all.length === 0 || asked.isRunning) {
    tell('cql-state', asked.isRunning ? 'running…' : 'The statement is missing.');
    return;
  }
  remember(text);
  at('earlier').replaceChildren();
  if (all.length > STATEMENTS_MAX) {
    fail(`${count(all.length)} statements are too many: at most ${STATEMENTS_MAX} are run at a time.`);
    return;
  }
  setRunning(true);
  for (const [index, statement] of all.entries()) {
    if (index > 0) {
      keep(all[index - 1], index);
    }
    if (!await send({ ...given('keyspace', 'user', 'password'), statement }, true, all.length > 1 ? ` ${index + 1} of ${all.length}` : '')) {
      break;
    }
  }
  setRunning(false);
  if (at('schema').open) {
    askSchema();
  }
}

// Puts the answer that is shown above the one to come.
function keep(statement, number) {
  const kept = element('div', { class: 'told' }, element('code', {}, statement.length > 200 ? `${statement.slice(0, 200)}…` : statement), element('p', {}, at('cql-state').textContent));
  if (!at('result-region').hidden) {
    const rows = at('result-region').cloneNode(true);
    rows.setAttribute('aria-label', `Rows of statement ${number}`);
    [rows, ...rows.querySelectorAll('[id]')].forEach((part) => part.removeAttribute('id'));
    kept.append(rows);
  }
  at('earlier').append(kept);
}

// Those fields of the form that are filled.
function given(...fields) {
  return Object.fromEntries(fields.map((field) => [field, at(field).value]).filter(([, value]) => value !== ''));
}

async function more() {
  if (!asked.isRunning) {
    setRunning(true);
    await send(asked.body, false, '');
    setRunning(false);
  }
}

// Whether it went well; `which` of several it is.
async function send(body, isNew, which) {
  tell('cql-state', `running${which}…`);
  const began = performance.now();
  let message;
  try {
    const answer = await post('/helenus/cql', body);
    message = answer.error && `${answer.error.code}: ${answer.error.message}`;
    if (!message) {
      show(body, answer, isNew, (performance.now() - began) * 1000);
      return true;
    }
    if (answer.error.asks_login) {
      at('login').open = true;
      at('user').focus();
    }
  } catch (error) {
    message = error.message;
  }
  fail(which ? `Statement${which}: ${message}` : message);
  return false;
}

// Not `disabled`, which would take the focus from the button that was pressed.
function setRunning(isRunning) {
  asked.isRunning = isRunning;
  at('run').setAttribute('aria-disabled', isRunning);
  at('more').setAttribute('aria-disabled', isRunning);
}

function fail(message) {
  tell('cql-state', '');
  tell('cql-error', message);
  at('cql-error').hidden = false;
  at('result-region').hidden = true;
  at('more').hidden = true;
}

function show(body, answer, isNew, took) {
  at('cql-error').hidden = true;
  tell('cql-error', '');
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
  tell('cql-state', `${done}, in ${micros(took)}.${warned}`);
  // The login was right if it had been wrong.
  schema.isOld ||= schema.hasFailed || /^(created|updated|dropped) /.test(done);
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

async function askSchema() {
  if (!schema.isOld) {
    return;
  }
  Object.assign(schema, { isOld: false, hasFailed: false });
  try {
    const names = (await read('keyspace_name FROM system_schema.keyspaces')).flat();
    const columns = await read('keyspace_name, table_name, column_name, type, kind, position FROM system_schema.columns');
    const isSystem = (name) => name.startsWith('system');
    schema.keyspaces = new Map(names.sort((one, other) => isSystem(one) - isSystem(other) || (one < other ? -1 : 1)).map((name) => [name, {}]));
    const place = ([, table, , , kind, position]) => [table, Object.keys(KINDS).indexOf(kind), position.padStart(5)].join(' ');
    for (const [keyspace, table, name, type, kind] of columns.sort((one, other) => (place(one) < place(other) ? -1 : 1))) {
      ((schema.keyspaces.get(keyspace) ?? {})[table] ??= []).push({ name, type, kind });
    }
    showSchema();
    tell('schema-state', columns.length < COLUMNS_MAX ? '' : 'There are more columns.');
  } catch (error) {
    schema.hasFailed = true;
    tell('schema-state', error.message);
  }
}

async function read(what) {
  const rows = [];
  let page;
  do {
    const answer = await post('/helenus/cql', { ...given('user', 'password'), statement: `SELECT ${what}`, page });
    if (answer.error) {
      throw new Error(answer.error.message);
    }
    rows.push(...answer.rows);
    ({ page } = answer);
  } while (page && rows.length < COLUMNS_MAX);
  return rows;
}

function showSchema() {
  const tree = at('schema-tree');
  const open = [...tree.querySelectorAll('[open]')].map(({ id }) => id);
  const branch = (id, name, leaves) => element('li', {}, element('details', { id, ...open.includes(id) && { open: '' } }, element('summary', {}, name), element('ul', {}, ...leaves)));
  const leaf = ({ name, type, kind }) => element('li', {}, name, ' ', element('span', { class: 'type' }, type + KINDS[kind]));
  const tablesOf = ([keyspace, tables]) => branch(`in ${keyspace}`, keyspace, Object.entries(tables).map(([table, columns]) => branch(`in ${keyspace}.${table}`, table, columns.map(leaf))));
  tree.replaceChildren(...[...schema.keyspaces].map(tablesOf));
}

const named = (token) => (token[0] === '"' ? token.slice(1, -1).replaceAll('""', '"') : token.toLowerCase());
const quoted = (name) => (/^[a-z][a-z\d_]*$/.test(name) && !KEYWORDS.includes(name.toUpperCase()) ? name : `"${name.replaceAll('"', '""')}"`);

// Words that may stand in place of the last `length` characters before the caret.
export function completions(before, text, keyspace, keyspaces) {
  const tokens = before.match(TOKEN) ?? [];
  const prefix = tokens.at(-1) === '.' ? '' : tokens.pop() ?? ' ';
  if (!/^([a-z]\w*)?$/i.test(prefix)) {
    return { words: [], length: 0 };
  }
  const isOf = tokens.at(-1) === '.';
  const last = tokens.filter((token) => token.trim()).at(isOf ? -2 : -1) ?? '';
  const tablesOf = (name) => Object.keys(keyspaces.get(name) ?? {});
  let names;
  if (isOf) {
    names = tablesOf(named(last));
  } else if (/^(USE|KEYSPACE)$/i.test(last)) {
    names = [...keyspaces.keys()];
  } else if (/^(FROM|INTO|UPDATE|TABLE|TRUNCATE|ON)$/i.test(last)) {
    names = [...tablesOf(keyspace), ...keyspaces.keys()];
  } else {
    // Columns of the tables that the text names, and then keywords.
    const said = (text.match(TOKEN) ?? []).map(named);
    const tables = [...keyspaces].flatMap(([name, all]) => (name === keyspace || said.includes(name) ? Object.entries(all) : []));
    names = tables.flatMap(([table, columns]) => (said.includes(table) ? columns.map(({ name }) => name) : []));
  }
  const words = [...new Set(names.map(quoted))].concat(isOf || /^(USE|FROM|INTO|UPDATE)$/i.test(last) ? [] : KEYWORDS);
  const isMeant = (word) => word !== prefix && word.replace('"', '').toLowerCase().startsWith(prefix.toLowerCase());
  return { words: words.filter(isMeant).slice(0, 8), length: prefix.length };
}

function suggest() {
  askSchema();
  const { value, selectionEnd } = at('statement');
  const { words, length } = completions(value.slice(0, selectionEnd), value, at('keyspace').value, schema.keyspaces);
  offer(words, length);
}

function offer(words, length = 0, chosen = -1) {
  Object.assign(offered, { words, length, chosen });
  at('completions').replaceChildren(...words.map((word, index) => element('li', { role: 'option', id: `completion-${index}`, 'aria-selected': index === chosen }, word)));
  at('completions').hidden = words.length === 0;
  at('statement').setAttribute('aria-activedescendant', chosen < 0 ? '' : `completion-${chosen}`);
}

function choose(step) {
  const { words, length, chosen } = offered;
  offer(words, length, step > 0 ? (chosen + 1) % words.length : (chosen > 0 ? chosen : words.length) - 1);
}

function take(index) {
  const box = at('statement');
  box.setRangeText(offered.words[index], box.selectionEnd - offered.length, box.selectionEnd, 'end');
  offer([]);
}
