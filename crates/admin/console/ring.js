// From tokens to arcs of a circle, and from a node's facts to words. Nothing here knows of the page.

import { NONE, count, duration, micros } from './format.js';

// Arcs that are drawn at most: of a ring with more tokens, one arc per node.
export const ARCS_MAX = 4096;
// Colours of the style sheet; further nodes share them.
const SERIES = 8;
// An offset above this, beyond its error, is logged by the node too.
const OFFSET_MAX_MICROS = 500_000;
// Between arcs there is a gap, of so many turns at most, and of no more than this part of the arc.
const GAP_TURNS = 1 / 1200;
const GAP_PART = 0.25;

const LEAST_TOKEN = -(2n ** 63n);
const TOKENS = 2 ** 64;

// Where a token is on the circle: 0 at the top, 1 after a whole turn.
export function turnOf(token) {
  return Number(BigInt(token) - LEAST_TOKEN) / TOKENS;
}

// One arc per range of tokens, from the token before it to its own, which its node owns. `tokens` is a list of `{key: token, value: endpoint}`, in any
// order. Turns are from 0 to 1; the range across the end begins below 0.
export function tokenArcs(tokens) {
  const places = tokens.map(({ key, value }) => ({ owner: value, to: turnOf(key) })).sort((one, other) => one.to - other.to);
  return places.map(({ owner, to }, index) => ({ owner, from: index === 0 ? places.at(-1).to - 1 : places[index - 1].to, to }));
}

// One arc per node, as long as its part of the ring. `parts` is a list of `{key: endpoint, value: part as text}`.
export function shareArcs(parts) {
  let from = 0;
  return parts.slice(0, ARCS_MAX).map(({ key, value }) => {
    const arc = { owner: key, from, to: from + Number(value) };
    from = arc.to;
    return arc;
  });
}

// The part of the ring that each node owns, by its endpoint.
export function sharesOf(arcs) {
  const shares = new Map();
  for (const { owner, from, to } of arcs) {
    shares.set(owner, (shares.get(owner) ?? 0) + to - from);
  }
  return shares;
}

// The arcs of each node, by its endpoint.
export function byOwner(arcs) {
  const owners = new Map();
  for (const arc of arcs) {
    if (!owners.has(arc.owner)) {
      owners.set(arc.owner, []);
    }
    owners.get(arc.owner).push(arc);
  }
  return owners;
}

function point(turn, radius) {
  const angle = 2 * Math.PI * turn;
  return `${(radius * Math.sin(angle)).toFixed(3)} ${(-radius * Math.cos(angle)).toFixed(3)}`;
}

// Arcs as the `d` of an SVG path around (0, 0), clockwise from the top. Each is drawn in two halves: one from a point to itself would not be drawn.
export function pathOf(arcs, radius) {
  const isWhole = ({ from, to }) => to - from >= 1;
  return arcs.map((arc) => {
    const gap = isWhole(arc) ? 0 : Math.min(GAP_TURNS, (arc.to - arc.from) * GAP_PART);
    const [from, to] = [arc.from + gap / 2, arc.to - gap / 2];
    const half = (turn) => `A ${radius} ${radius} 0 0 1 ${point(turn, radius)}`;
    return `M ${point(from, radius)} ${half((from + to) / 2)} ${half(to)}`;
  }).join(' ');
}

// Nodetool's letters: up or down; and normal, joining, leaving or moving.
function lettersOf(node, { joining, leaving, moving }) {
  const is = (list) => list.includes(node.endpoint);
  return `${node.is_up ? 'U' : 'D'}${is(joining) ? 'J' : is(leaving) ? 'L' : is(moving) ? 'M' : 'N'}`;
}

// How the node that is asked sees this one, and since when.
function seenOf({ is_local: isLocal, is_up: isUp, life }) {
  if (isLocal) {
    return 'this node';
  }
  if (!life) {
    return isUp ? 'up' : 'down';
  }
  const since = duration(life.since_ms);
  const words = {
    up: `up for ${since}${life.is_ready ? '' : '; does not accept clients'}`,
    greeted: `down: connected for ${since}, has not answered twice yet`,
    convicted: `down for ${since}: does not answer`,
    down: `down for ${since}: no connection`,
  };
  return words[life.verdict] ?? `${life.verdict} for ${since}`;
}

// The node's clock less that of the node that is asked.
function clockOf(life) {
  const [offset, error] = [life?.clock_offset_us, life?.clock_error_us];
  if (typeof offset !== 'number' || typeof error !== 'number') {
    return { offset: null, words: NONE };
  }
  const sign = offset < 0 ? '−' : '+';
  const verdict = Math.abs(offset) - error > OFFSET_MAX_MICROS ? ', wrong: check both clocks' : '';
  return { offset: Math.abs(offset), words: `${sign}${micros(Math.abs(offset))} ± ${micros(error)}${verdict}` };
}

// The rows of the list: the nodes in their order, with shares by endpoint, who joins, leaves and moves, and times of answers and hints by host id.
export function rowsOf(nodes, shares, changing, { times = [], hints = [] } = {}) {
  const answers = new Map(times.map((time) => [time.host_id, time.micros]));
  const waiting = new Map(hints.map((of) => [of.host_id, of.bytes]));
  return nodes.map((node, index) => ({
    endpoint: node.endpoint,
    place: `${node.datacenter} / ${node.rack}`,
    letters: lettersOf(node, changing),
    seen: seenOf(node),
    isUp: node.is_up,
    tokens: node.tokens,
    share: shares.get(node.endpoint) ?? null,
    load: node.life?.load_bytes ?? null,
    clock: clockOf(node.life),
    answers: answers.get(node.host_id) ?? null,
    hints: node.is_local ? null : waiting.get(node.host_id) ?? 0,
    series: (index % SERIES) + 1,
  }));
}

// What the circle shows, in a sentence or two.
export function sentenceOf(rows, ranges) {
  const NAMED_MAX = 5;
  const down = rows.filter((row) => !row.isUp).map((row) => row.endpoint);
  const named = down.slice(0, NAMED_MAX).join(', ') + (down.length > NAMED_MAX ? ` and ${down.length - NAMED_MAX} more` : '');
  const state = down.length === 0 ? 'All are up.' : `${down.length === 1 ? 'One is' : `${down.length} are`} down: ${named}.`;
  const drawn = ranges === null ? `more than ${count(ARCS_MAX)} token ranges: one arc per node, as long as its share` : `${count(ranges)} token ranges`;
  return `${count(rows.length)} nodes, ${drawn}. ${state}`;
}
