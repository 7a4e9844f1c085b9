"""The verdict on troubles can fail: for each thing that is wrong there is a complaint."""

from verdict import OPERATIONS, REQUESTS_MIN, TROUBLES, Seen

GOOD = [f"row {trouble} {REQUESTS_MIN} 0 12.50 80.00" for trouble in ("calm", *TROUBLES, *OPERATIONS)] + ["kept 500"]


def complaints(lines):
    seen = Seen("Driver")
    for line in lines:
        seen.add(line)
    return seen.complaints()


def test_a_suite_that_saw_no_failure_is_good():
    assert not complaints(GOOD)


def test_rounds_are_summed_and_the_longest_gap_is_kept():
    seen = Seen("Driver")
    for line in [*GOOD, f"row kill {REQUESTS_MIN} 2 300.00 20.00"]:
        seen.add(line)
    kill = seen.rows["kill"]
    assert (kill.requests, kill.failures, kill.gap, kill.slowest) == (2 * REQUESTS_MIN, 2, 300.0, 80.0)
    figures = [line for line in Seen.table([seen]) if line.startswith("figure: ")]
    # A gap over its aim is marked, and is no complaint.
    assert [line.endswith(" MISSED") for line in figures] == [trouble == "kill" for trouble in (*TROUBLES, *OPERATIONS)]
    assert seen.complaints() == [f"Driver: kill: 2 of {2 * REQUESTS_MIN} idempotent requests failed"]


def test_what_is_wrong_is_complained_of():
    for index in range(len(GOOD)):
        # A row or the verdict on the rows is missing; calm is for comparison only.
        assert bool(complaints(GOOD[:index] + GOOD[index + 1:])) == (index > 0)
    failed, too_few = GOOD[1].replace(" 0 ", " 1 "), f"row mute {REQUESTS_MIN - 1} 0 1.00 1.00"
    for at, line in ((0, "row calm 100 1 1.00 1.00"), (1, failed), (2, too_few), (5, "lost 3"), (5, ""), (3, "silent: timed out")):
        assert complaints(GOOD[:at] + [line] + GOOD[at + 1:]), line
