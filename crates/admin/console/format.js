// Numbers as people read them. Nothing here knows of the page.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

// What stands where there is no number.
export const NONE = '–';

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

// 1,234,567
export function count(value) {
  return isNumber(value) ? whole.format(value) : NONE;
}

// 12.3, 1,234, 1.23M: of what is counted by the second.
export function rate(value) {
  if (!isNumber(value)) {
    return NONE;
  }
  if (value > 0 && value < 10) {
    return value.toFixed(1);
  }
  return value < 100_000 ? whole.format(value) : short.format(value);
}

// 1.5 MiB
export function bytes(value) {
  if (!isNumber(value)) {
    return NONE;
  }
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? whole.format(value) : value.toFixed(1)} ${units[unit]}`;
}

// 430 µs, 1.2 ms, 3.0 s
export function micros(value) {
  if (!isNumber(value)) {
    return NONE;
  }
  if (value < 1000) {
    return `${whole.format(value)} µs`;
  }
  return value < 1_000_000 ? `${fine(value / 1000)} ms` : `${fine(value / 1_000_000)} s`;
}

const fine = (value) => (value < 100 ? value.toFixed(1) : whole.format(value));

// 0.25 is 25 %
export function percent(part) {
  if (!isNumber(part)) {
    return NONE;
  }
  return `${part > 0 && part < 0.1 ? (part * 100).toFixed(1) : whole.format(part * 100)} %`;
}

// 2 d 3 h, 4 min 5 s
export function duration(milliseconds) {
  if (!isNumber(milliseconds)) {
    return NONE;
  }
  const seconds = Math.floor(milliseconds / 1000);
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) {
    return '0 s';
  }
  let left = seconds;
  const parts = units.slice(first, first + 2).map(([name, size]) => {
    const many = Math.floor(left / size);
    left -= many * size;
    return `${many} ${name}`;
  });
  return parts.join(' ');
}

// 14:03:07 of milliseconds since 1970
export function clock(milliseconds) {
  return isNumber(milliseconds) ? new Date(milliseconds).toLocaleTimeString('en-GB') : NONE;
}
