// From two pulses to what happened between them. Nothing here knows of the page.

// The percentiles that are shown.
export const QUANTILES = [['p50', 0.5], ['p95', 0.95], ['p99', 0.99], ['p999', 0.999]];

// The value that so large a part of what was counted does not exceed: the upper bound of its bucket, or the last one. Null where nothing was counted.
export function quantile(bounds, counts, part) {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) {
    return null;
  }
  const wanted = Math.max(1, Math.ceil(all * part));
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    seen += counts[bucket];
    if (seen >= wanted) {
      return bounds[Math.min(bucket, bounds.length - 1)];
    }
  }
  return bounds[bounds.length - 1];
}

// What was counted since: counters that are missing were not counted yet.
function grown(before, after) {
  return after.map((count, index) => count - (before[index] ?? 0));
}

function kindOf(pulse, name) {
  return pulse.kinds.find((kind) => kind.kind === name) ?? { micros_sum: 0, buckets: [] };
}

// Requests of these kinds together.
function requests(before, after, names, seconds) {
  const counts = [];
  let micros = 0;
  for (const name of names) {
    const [old, now] = [kindOf(before, name), kindOf(after, name)];
    micros += now.micros_sum - old.micros_sum;
    grown(old.buckets, now.buckets).forEach((count, index) => { counts[index] = (counts[index] ?? 0) + count; });
  }
  const many = counts.reduce((sum, count) => sum + count, 0);
  const told = { many, rate: many / seconds, mean: many > 0 ? micros / many : null };
  for (const [name, part] of QUANTILES) {
    told[name] = quantile(after.bucket_offsets, counts, part);
  }
  return told;
}

function shardsBetween(before, after, seconds) {
  return after.shards.map((now, index) => {
    const old = before.shards[index];
    return {
      ...now,
      load: (now.cpu_micros - old.cpu_micros) / 1e6 / seconds,
      requestRate: (now.requests - old.requests) / seconds,
      crossedRate: (now.crossed - old.crossed) / seconds,
    };
  });
}

// Whatever of the memory counts hits is a cache.
function cachesBetween(before, after) {
  const all = Object.entries(after.memory).filter(([, use]) => use !== null && typeof use === 'object' && 'hits' in use);
  return all.map(([name, now]) => {
    const old = before.memory[name] ?? { hits: 0, misses: 0 };
    const [hits, misses] = [now.hits - old.hits, now.misses - old.misses];
    const [allHits, allAsked] = [now.hits, now.hits + now.misses];
    return {
      name,
      ...now,
      asked: hits + misses,
      hitPart: hits + misses > 0 ? hits / (hits + misses) : null,
      hitPartEver: allAsked > 0 ? allHits / allAsked : null,
    };
  });
}

// What requests over the ring met: how often since the start, and a second.
function ringBetween(before, after, seconds) {
  return Object.entries(after).map(([name, all]) => ({ name, all, rate: (all - (before[name] ?? 0)) / seconds }));
}

const errorsOf = (pulse) => pulse.errors.reduce((sum, error) => sum + error.count, 0);

// What happened between two pulses; null if the node was started anew, or no time has passed.
export function between(before, after) {
  const seconds = (after.uptime_ms - before.uptime_ms) / 1000;
  if (seconds <= 0 || before.shards.length !== after.shards.length) {
    return null;
  }
  if (after.shards.some((shard, index) => shard.requests < before.shards[index].requests)) {
    return null;
  }
  return {
    seconds,
    reads: requests(before, after, ['read', 'range'], seconds),
    writes: requests(before, after, ['write', 'batch'], seconds),
    others: requests(before, after, ['prepare', 'schema', 'other'], seconds),
    errors: (errorsOf(after) - errorsOf(before)) / seconds,
    cores: after.cpu_micros === null || before.cpu_micros === null ? null : (after.cpu_micros - before.cpu_micros) / 1e6 / seconds,
    shards: shardsBetween(before, after, seconds),
    caches: cachesBetween(before, after),
    ring: ringBetween(before.ring ?? {}, after.ring ?? {}, seconds),
    compacted: (after.compactions.bytes - before.compactions.bytes) / seconds,
  };
}

// The tables of a list with what was read and written of each since the one before.
export function tablesBetween(before, after, seconds) {
  const old = new Map((before ?? []).map((table) => [table.id, table]));
  return after.map((table) => {
    const known = old.get(table.id);
    const since = (now, then) => (known && seconds > 0 && now >= then ? (now - then) / seconds : null);
    return { ...table, readRate: since(table.reads, known?.reads), writeRate: since(table.writes, known?.writes) };
  });
}
