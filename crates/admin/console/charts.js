// Lines over the last five minutes, drawn by uPlot. The same figures stand in words in tiles and tables: a chart is for the eye alone.

/* global uPlot */

import { clock } from './format.js';

const POINTS_MAX = 300;
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

export class Chart {
  // `lines`: the label and the dashes of each; `shown`: a value in words; `least`: where the scale's end is at least.
  constructor(place, { lines, shown, least = 1 }) {
    Object.assign(this, { place, lines, shown, least, plot: null });
    this.data = [[], ...lines.map(() => [])];
    this.draw();
    new ResizeObserver(() => this.fit()).observe(place);
    document.addEventListener('themechange', () => this.draw());
  }

  // One moment's values, in the lines' order; null is a gap.
  push(seconds, values) {
    [seconds, ...values].forEach((value, index) => this.data[index].push(value));
    if (this.data[0].length > POINTS_MAX) {
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

  draw() {
    this.plot?.destroy();
    const [ink, grid] = [colour('--muted'), colour('--line')];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: '12px system-ui, sans-serif' };
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
      scales: { y: { range: (_, low, high) => [0, Math.max(this.least, (high ?? 0) * 1.1)] } },
      axes: [{ ...axis, space: 90, values: (_, moments) => moments.map((moment) => clock(moment * 1000)) }, { ...axis, size: 64, values: (_, values) => values.map((value) => this.shown(value)) }],
      series: [{ label: 'time', value: (_, moment) => clock(moment === null ? null : moment * 1000) }, ...series],
    }, this.data, this.place);
    this.sayLast();
  }
}
