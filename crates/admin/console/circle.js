// The ring: a circle of token ranges, and its nodes, of which one that is pointed at, has the focus or is pressed stands out.

import { ARCS_MAX, byOwner, pathOf, rowsOf, sentenceOf, shareArcs, sharesOf, tokenArcs } from './ring.js';
import { bytes, count, micros, percent } from './format.js';
import { List, at, figure, say, tell } from './lists.js';

const RADIUS = 82;
// Of the text within, in the circle's units.
const TEXT_WIDTH = 130;
const LETTERS_MAX = 17;

// The paths and what is said of a node by endpoint, what is said of all, and what the paths are drawn from.
const drawn = { paths: new Map(), words: new Map(), all: [], of: '' };
// Of these nodes the first that is on the circle stands out.
const chosen = { pointed: null, focused: null, pressed: null };

const colourOf = (row) => `var(--series-${row.series})`;
const life = (row) => ({ life: row.isUp ? 'up' : 'down' });

const list = new List(at('ring-list'), {
  key: (row) => row.endpoint,
  empty: 'Nothing is known yet.',
  sorted: { index: 1, order: 'ascending' },
  columns: [
    { title: 'node', text: (row) => row.endpoint, button: true, own: colourOf, data: life },
    { title: 'state', text: (row) => row.letters, data: life },
    { title: 'seen from here', text: (row) => row.seen },
    { title: 'datacenter / rack', text: (row) => row.place },
    figure('tokens', 'tokens', count),
    figure('share', 'share', percent, true),
    figure('load', 'load', bytes),
    { title: 'clock, less this node\'s', value: (row) => row.clock.offset, text: (row) => row.clock.words },
    figure('answers reads in', 'answers', micros),
    figure('hints that wait', 'hints', bytes),
  ],
});

// Asks for the ring and shows it.
export async function ask(get) {
  const changing = ['joining', 'leaving', 'moving'];
  const [nodes, times, hints, joining, leaving, moving] = await Promise.all([
    get('/helenus/nodes'), get('/helenus/answer_times'), get('/hinted_handoff/hints'), ...changing.map((name) => get(`/storage_service/nodes/${name}`)),
  ]);
  const ranges = nodes.reduce((sum, node) => sum + node.tokens, 0);
  const isFine = ranges <= ARCS_MAX;
  const arcs = isFine ? tokenArcs(await get('/storage_service/tokens_endpoint')) : shareArcs(await get('/storage_service/ownership'));
  const rows = rowsOf(nodes, sharesOf(arcs), { joining, leaving, moving }, { times, hints });
  const down = rows.filter((row) => !row.isUp).length;
  drawn.words = new Map(rows.map((row) => [row.endpoint, [row.endpoint, `${row.letters}, ${percent(row.share)}`]]));
  drawn.all = [`${count(rows.length)} nodes`, down === 0 ? 'all up' : `${count(down)} down`];
  tell('ring-summary', sentenceOf(rows, isFine ? ranges : null));
  draw(arcs, rows);
  list.update(rows);
  keepOneStop();
  standOut();
}

// One path per node, of all its arcs. They are made again where the ring is another, and else marked as up or down alone.
function draw(arcs, rows) {
  const of = JSON.stringify([arcs, rows.map((row) => [row.endpoint, row.series])]);
  if (of !== drawn.of) {
    const owners = byOwner(arcs);
    drawn.paths = new Map(rows.filter((row) => owners.has(row.endpoint)).map((row) => [row.endpoint, pathFor(row, owners.get(row.endpoint))]));
    drawn.of = of;
    at('ring-arcs').replaceChildren(...drawn.paths.values());
  }
  rows.forEach((row) => drawn.paths.get(row.endpoint)?.setAttribute('data-life', row.isUp ? 'up' : 'down'));
}

function pathFor(row, arcs) {
  const path = document.createElementNS(at('ring-arcs').namespaceURI, 'path');
  path.setAttribute('d', pathOf(arcs, RADIUS));
  path.setAttribute('data-node', row.endpoint);
  path.style.setProperty('--own', colourOf(row));
  path.addEventListener('pointerenter', () => choose('pointed', row.endpoint));
  path.addEventListener('pointerleave', () => choose('pointed', null));
  return path;
}

function choose(how, endpoint) {
  chosen[how] = endpoint;
  standOut();
}

// Shows the chosen node on the circle, within it and in the list.
function standOut() {
  const endpoint = [chosen.pointed, chosen.focused, chosen.pressed].find((one) => one !== null && drawn.paths.has(one)) ?? null;
  at('ring-arcs').classList.toggle('chosen', endpoint !== null);
  const [first, second] = drawn.words.get(endpoint) ?? drawn.all;
  write(at('ring-first'), first);
  write(at('ring-second'), second);
  drawn.paths.forEach((path, one) => path.classList.toggle('chosen', one === endpoint));
  for (const line of list.body.children) {
    const button = buttonOf(line);
    line.classList.toggle('chosen', endpointOf(line) === endpoint);
    button.setAttribute('aria-pressed', endpointOf(line) === chosen.pressed);
  }
}

// Text within the circle; a long one, as of an IPv6 address, is narrowed.
function write(place, text) {
  say(place, text);
  if (text.length > LETTERS_MAX) {
    place.setAttribute('textLength', TEXT_WIDTH);
  } else {
    place.removeAttribute('textLength');
  }
}

const endpointOf = (line) => line.firstElementChild.textContent;
const buttonOf = (line) => line.querySelector('button');

// The buttons of the list are one stop of the Tab key; arrows lead from one to the next.
function keepOneStop(wanted) {
  const buttons = [...list.body.children].map(buttonOf);
  const one = wanted ?? buttons.find((button) => button.tabIndex === 0) ?? buttons[0];
  buttons.forEach((button) => { button.tabIndex = button === one ? 0 : -1; });
}

function walk(event) {
  const buttons = [...list.body.children].map(buttonOf);
  const place = buttons.indexOf(event.target);
  const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (place !== -1 && buttons[next]) {
    event.preventDefault();
    keepOneStop(buttons[next]);
    buttons[next].focus();
  }
}

const lineAt = (event) => event.target.closest('#ring-list tbody tr');

const heard = {
  pointerover: (event) => choose('pointed', lineAt(event) && endpointOf(lineAt(event))),
  pointerleave: () => choose('pointed', null),
  focusin: (event) => choose('focused', endpointOf(lineAt(event))),
  focusout: () => choose('focused', null),
  keydown: walk,
  click: (event) => {
    const line = lineAt(event);
    if (line && event.target === buttonOf(line)) {
      keepOneStop(event.target);
      choose('pressed', chosen.pressed === endpointOf(line) ? null : endpointOf(line));
    }
  },
};
Object.entries(heard).forEach(([event, does]) => list.body.addEventListener(event, does));
