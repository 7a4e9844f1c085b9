// Lines over up to an hour, for the eye alone: tiles and tables have the figures in words.

/* global uPlot */

import { clock } from './format.js';
import { label } from './lists.js';

// By age and by number.
const SECONDS_MAX = 3600;
const POINTS_MAX = 3700;
// A longer silence is a gap.
const SILENCE_SECONDS = 5;
const HEIGHT = 170;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A line's dashes, as the legend draws them.
function line(drawn) {
  return drawn?.dash ? (drawn.dash[0] > 4 ? 'dashed' : 'dotted') : 'solid';
}

// Where a value stands between gaps: a line would not show it.
function alone(values) {
  const isGap = (index) => values[index] === null || values[index] === undefined;
  return values.flatMap((value, index) => (!isGap(index) && isGap(index - 1) && isGap(index + 1) ? [index] : []));
}

// How all are drawn: the seconds that they go back, and the scale of latencies.
export const drawn = { span: 300, isLog: true };

export class Chart {
  // `lines`: the label and the dashes of each; `shown`: a value in words; `least`: where the scale's end is at least; `mayLog`: the scale may be logarithmic.
  constructor(place, { lines, shown, least = 1, mayLog = false }) {
    Object.assign(this, { place, lines, shown, least, mayLog, plot: null });
    this.data = [[], ...lines.map(() => [])];
    label(place, place.previousElementSibling, { role: 'img' });
    this.draw();
    new ResizeObserver(() => this.fit()).observe(place);
    for (const change of ['themechange', 'chartchange']) {
      document.addEventListener(change, () => this.draw());
    }
  }

  // One moment's values, in the lines' order; null is a gap.
  push(seconds, values) {
    const last = this.data[0].at(-1);
    if (seconds - last > SILENCE_SECONDS) {
      this.data.forEach((points, index) => points.push(index === 0 ? last + 1 : null));
    }
    [seconds, ...values].forEach((value, index) => this.data[index].push(value));
    while (this.data[0].length > POINTS_MAX || this.data[0][0] < seconds - SECONDS_MAX) {
      this.data.forEach((points) => points.shift());
    }
    this.plot.setData(this.data);
    this.sayLast();
  }

  // What the legend says while nobody points at a moment.
  sayLast() {
    if (this.data[0].length > 0 && !(this.plot.cursor.left >= 0)) {
      this.plot.setLegend({ idx: this.data[0].length - 1 }, false);
    }
  }

  // Other lines from here on, if they are others.
  relabel(lines) {
    if (lines.length !== this.lines.length) {
      this.lines = lines;
      this.data = [[], ...lines.map(() => [])];
      this.draw();
    }
  }

  fit() {
    const width = Math.floor(this.place.clientWidth);
    if (width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: HEIGHT });
    }
  }

  // From nothing to the greatest value; or powers of ten around all.
  range(low, high) {
    if (!this.isLog()) {
      return [0, Math.max(this.least, (high ?? 0) * 1.1)];
    }
    const first = 10 ** Math.floor(Math.log10(Math.max(1, low ?? 1)));
    return [first, Math.max(first * 10, this.least, 10 ** Math.ceil(Math.log10(Math.max(1, high ?? 1))))];
  }

  isLog() {
    return this.mayLog && drawn.isLog;
  }

  draw() {
    this.plot?.destroy();
    const grid = { stroke: colour('--line'), width: 1 };
    const axis = { stroke: colour('--muted'), grid, ticks: grid, font: '12px system-ui, sans-serif' };
    const series = this.lines.map((line, index) => ({
      label: line.label,
      stroke: colour(`--series-${index % 8 + 1}`),
      width: 1.5,
      dash: line.dash,
      points: { show: false, size: 5, filter: (_, place) => alone(this.data[place]) },
      value: (_, value) => this.shown(value),
    }));
    this.plot = new uPlot({
      width: Math.max(200, Math.floor(this.place.clientWidth)),
      height: HEIGHT,
      cursor: { drag: { x: false, y: false } },
      legend: { live: true, markers: { width: 2, dash: (_, index) => line(this.lines[index - 1]) } },
      scales: {
        x: { range: (_, low, high) => (low === null ? [low, high] : [Math.min(Math.max(low, high - drawn.span), high - 1), high]) },
        y: { range: (_, low, high) => this.range(low, high), distr: this.isLog() ? 3 : 1 },
      },
      axes: [{ ...axis, size: 28, space: 90, values: (_, moments) => moments.map((moment) => clock(moment * 1000)) }, { ...axis, size: 64, grid: { ...grid, filter: (_, values) => values.map((value) => (this.isLog() && Math.log10(value) % 1 ? null : value)) }, values: (_, values) => values.map((value) => (value === null ? '' : this.shown(value))) }],
      series: [{ label: 'time', value: (_, moment) => clock(moment === null ? null : moment * 1000) }, ...series],
    }, this.data, this.place);
    this.sayLast();
  }
}
