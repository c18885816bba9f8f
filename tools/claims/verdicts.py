"""From figures to verdicts: pure functions of the numbers that report.py read, and of what was claimed. No verdict is
written by hand.
"""
import dataclasses

CONFIRMED = "confirmed"
NOT_CONFIRMED = "not confirmed"
DIFFERENT = "different from claimed"
UNDECIDED = "undecided"

KEPT = 0.01  # a loss higher by up to this share passes for kept
NEAR = 0.05  # shares this close pass for the claimed one


@dataclasses.dataclass(frozen=True)
class Verdict:
    kind: str
    sentence: str


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def signed(share):
    return f"{100 * share:+.2f} %"


def words(difference):
    """'+0.21 % ± 0.35 %'"""
    return signed(difference.mean) + (f" ± {percent(difference.half, 2)}" if difference.half is not None else
                                      " (one seed, no interval)")


def place(link):
    return "within the machine" if link == "memory" else f"on links of {link.replace('gbit', ' Gbit/s')}"


def loss_kept(difference):
    """True, False, or None where the interval does not tell; and a clause that says so."""
    told = words(difference)
    if difference.half is None:
        return None, f"the loss differs by {told}"
    if difference.high <= KEPT:
        return True, f"the loss is kept within {percent(KEPT, 0)} ({told})"
    if difference.low > KEPT:
        return False, f"the loss is worse ({told})"
    return None, f"whether the loss is kept within {percent(KEPT, 0)} is open ({told})"


def quicker_steps(figures):
    """Clauses on step times, as far as they were measured."""
    clauses = []
    for link, pace in figures.get("pace", {}).items():
        change = pace["step_seconds"] / pace["baseline_step_seconds"] - 1
        clauses.append(f"a step takes {percent(abs(change), 0)} {'less' if change < 0 else 'more'} time {place(link)}")
    return clauses


def fewer_bytes(figures, claimed, allowed):
    """Of a trick that sends less; `allowed` are the bounds of what it may send, as a share of the baseline's bytes."""
    share = figures["bytes_share"]
    if not allowed[0] <= share <= allowed[1]:
        least = f"at least {percent(allowed[0])} and " if allowed[0] > 0 else ""
        return Verdict(NOT_CONFIRMED, f"It sends {percent(share)} of the baseline's bytes; by its arithmetic it should be "
                                      f"{least}at most {percent(allowed[1])}.")
    kept, loss = loss_kept(figures["loss"]["difference"])
    as_claimed = abs(1 - share - claimed) <= NEAR
    told = f"Bytes fall by {percent(1 - share)}" + ("" if as_claimed else f", not by {percent(claimed, 0)}")
    told = "; ".join([told, loss, *quicker_steps(figures)]) + "."
    if not as_claimed or kept is False:
        return Verdict(DIFFERENT, told)
    return Verdict(CONFIRMED if kept else UNDECIDED, told)


def lower_loss(figures, claimed=None):
    """Of a trick that should learn better, by the share `claimed` where there is one."""
    difference = figures["loss"]["difference"]
    told = words(difference)
    if difference.half is None:
        return Verdict(UNDECIDED, f"The loss differs by {told}.")
    if difference.low > 0:
        return Verdict(NOT_CONFIRMED, f"The loss is higher: {told}.")
    if difference.high >= 0:
        return Verdict(NOT_CONFIRMED, f"No difference in loss can be told: {told}.")
    if claimed is not None and not difference.low <= -claimed <= difference.high:
        return Verdict(DIFFERENT, f"The loss is lower, but not by {percent(claimed, 0)}: {told}.")
    return Verdict(CONFIRMED, f"The loss is lower: {told}.")


def quicker_saves(figures, claimed=0.40):
    own, baseline = figures["saving"], figures["baseline_saving"]

    def less(key):
        return 1 - own[key] / baseline[key]

    def change(key):
        return f"{percent(abs(less(key)), 0)} {'less' if less(key) > 0 else 'more'}"

    told = (f"A save is on disk after {change('durable_seconds')} time; training waits {change('stall_seconds')} for it; "
            f"it takes {change('bytes')} space; going on from the last takes {change('restore_seconds')} time.")
    quicker = less("durable_seconds")
    if quicker <= 0:
        return Verdict(NOT_CONFIRMED, told)
    # All of the claim: less time, less space, quicker recovery.
    whole = quicker >= claimed - NEAR and less("bytes") > 0 and less("restore_seconds") > 0
    return Verdict(CONFIRMED if whole else DIFFERENT, told)


def lighter_wires(figures):
    """Of a topology that should cost less and lose nothing."""
    share = figures["bytes_share"]
    kept, loss = loss_kept(figures["loss"]["difference"])
    told = "; ".join([f"It sends {percent(share)} of the baseline's bytes", loss, *quicker_steps(figures)]) + "."
    if share >= 1 or kept is False:
        return Verdict(NOT_CONFIRMED, told)
    return Verdict(CONFIRMED if kept else UNDECIDED, told)


def steadier(figures):
    swing = figures["swing"]["difference"]
    kept, loss = loss_kept(figures["loss"]["difference"])
    told = f"Swings of the loss differ by {words(swing)}; {loss}."
    if swing.half is None:
        return Verdict(UNDECIDED, told)
    if swing.high >= 0 or kept is False:
        return Verdict(NOT_CONFIRMED, told)
    return Verdict(CONFIRMED if kept else UNDECIDED, told)


def hardware(cards):
    if cards:
        return Verdict(UNDECIDED, f"There are RDMA cards ({', '.join(cards)}), but MPI has no call that lets them compress.")
    return Verdict(NOT_CONFIRMED, "Not reproducible here: no RDMA card is present, and MPI has no call that would let one "
                                  "compress.")
