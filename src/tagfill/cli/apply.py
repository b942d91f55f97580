"""`tagfill apply`: decisions of people back into the labels."""

from __future__ import annotations

from pathlib import Path

from tagfill.cli.labels import AS_USUAL, Reading, counts, report, save, target_format


def apply(
    suggestions: Path,
    data: Path,
    out: Path,
    /,
    *,
    to: str | None = None,
    format: str | None = None,
    reading: Reading = AS_USUAL,
    force: bool = False,
    json: bool = False,
) -> None:
    """Put the answers to suggestions into the labels: yes becomes positive, no negative.

    `tagfill train OUT --init RUN` goes on from there.

    Args:
        suggestions: What `tagfill recover` wrote, its column `decision` filled in (yes or no, y or
            n, 1 or 0, true or false; blank says nothing); or the JSON export of Label Studio.
        data: The labels the suggestions are about.
        out: The file or folder to write.
        to: Format to write; by default what the suffix of OUT says, else that of DATA.
        format: Format of DATA; detected when not given.
        force: Overwrite OUT.
        json: One JSON object on stdout.
    """
    from tagfill.cli.output import console, print_json
    from tagfill.recover.decisions import apply_decisions, read_decisions

    dataset = reading.load(data, format)
    decisions = read_decisions(suggestions, dataset.table)
    applied = apply_decisions(dataset, decisions, suggestions)
    lost = save(applied.dataset, out, to or target_format(dataset, out), force=force)
    result = {
        "out": str(out),
        "yes": applied.yes,
        "no": applied.no,
        "blank": applied.blank,
        "changed": applied.changed,
        **counts(applied.dataset.table),
        "not_held": lost,
    }
    if json:
        print_json(result)
        return
    report(dataset, lost)
    said = f"{applied.yes:,} yes, {applied.no:,} no, {applied.blank:,} left open"
    console.print(f"{out}: {said}; {applied.changed:,} labels changed", markup=False)
