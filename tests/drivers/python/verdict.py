"""What drivers' suites saw of troubles, and the verdict on it. Times are printed, and judge nothing."""

# The longest time without a success that a client should see.
AIM_MS = 250
# A suite that did fewer requests while a trouble lasted shows nothing: it does two hundred a second, and on a slow and busy disk twenty.
REQUESTS_MIN = 30
TROUBLES = ("kill", "mute", "deaf", "stop")
# What operators do to the ring meanwhile.
OPERATIONS = ("join", "replace", "factor", "leave")


class Row:
    """One kind of trouble: sums, and the longest times."""

    def __init__(self):
        self.requests = self.failures = 0
        self.gap = self.slowest = 0.0

    def add(self, requests, failures, gap, slowest):
        self.requests += int(requests)
        self.failures += int(failures)
        self.gap, self.slowest = max(self.gap, float(gap)), max(self.slowest, float(slowest))


class Seen:
    """All that one suite said."""

    def __init__(self, name):
        self.name, self.rows, self.kept, self.wrong = name, {}, 0, []

    def add(self, line):
        match line.split():
            case ["row", trouble, *numbers] if len(numbers) == 4:
                self.rows.setdefault(trouble, Row()).add(*numbers)
            case ["kept", count]:
                self.kept = int(count)
            case _:
                self.wrong.append(line or "it ended")

    def complaints(self):
        """What is wrong, in sentences."""
        wrong = list(self.wrong)
        for trouble in (*TROUBLES, *OPERATIONS):
            row = self.rows.get(trouble, Row())
            if row.failures:
                wrong.append(f"{trouble}: {row.failures} of {row.requests} idempotent requests failed")
            if row.requests < REQUESTS_MIN:
                wrong.append(f"{trouble}: only {row.requests} requests")
        if calm := self.rows.get("calm", Row()).failures:
            wrong.append(f"{calm} requests failed without a trouble")
        if not self.kept:
            wrong.append("it read none of its acknowledged rows at the end")
        return [f"{self.name}: {said}" for said in wrong]

    @staticmethod
    def table(all_seen):
        """A row for each suite and trouble, then the gaps as figures."""
        yield f"{'client':<26} {'trouble':<8} {'requests':>8} {'failures':>8} {'longest gap':>12} {'slowest':>12}"
        for seen in all_seen:
            for trouble, row in seen.rows.items():
                yield f"{seen.name:<26} {trouble:<8} {row.requests:>8} {row.failures:>8} {row.gap:>9.1f} ms {row.slowest:>9.1f} ms"
            yield f"{seen.name:<26} {seen.kept} acknowledged rows were read at QUORUM"
        for seen in all_seen:
            for trouble in (*TROUBLES, *OPERATIONS):
                gap = seen.rows.get(trouble, Row()).gap
                missed = " MISSED" if gap > AIM_MS else ""
                yield f"figure: {gap:.2f} ms: longest gap in the successes of {seen.name}, {trouble} (aim {AIM_MS}.00){missed}"
