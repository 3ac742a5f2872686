#!/usr/bin/env python3
"""Makes a table and a chart of what bench.py wrote.

    report.py RESULTS [--readme FILE] [--chart FILE]

Prints the tables. --readme puts those for a reader between the lines `<!-- bench -->` and `<!-- /bench -->` of a Markdown file; --chart
writes an SVG picture (default: chart.svg beside RESULTS).
Ends with 1 if a result of Stator's was wrong.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from chart import chart
from peers import PEERS
from targets import C_INTERFACE_NS, EXPORT_TARGET, TARGETS

Row = dict[str, Any]
INFINITE = float("inf")
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"


def with_faster_variants(results: dict[str, Any]) -> dict[str, Any]:
    """The same with each peer's variants left out, and the fastest of them in the peer's place."""
    for row in results["rows"]:
        for peer in [peer for peer in row["peers"] if PEERS[peer].variant_of]:
            other = row["peers"].pop(peer)
            base = PEERS[peer].variant_of
            if other.get("p50_us", INFINITE) < row["peers"].get(base, {}).get("p50_us", INFINITE):
                row["peers"][base] = other
    results["peers"] = {peer: info for peer, info in results["peers"].items() if not PEERS[peer].variant_of}
    return results


def median(row: Row, peer: str) -> float | None:
    return row["peers"].get(peer, {}).get("p50_us")


def fastest(row: Row) -> str | None:
    """The peer, not ours, of the least median."""
    timed = {peer: median(row, peer) for peer in row["peers"] if not PEERS[peer].ours and median(row, peer)}
    return min(timed, key=timed.get) if timed else None


def ratio(row: Row, peer: str | None, ours: str = "stator") -> float | None:
    one, other = median(row, ours), median(row, peer or "")
    return one / other if one and other else None


def spread(row: Row, peer: str, ours: str = "stator") -> tuple[float, float]:
    """Least and largest ratio of the medians of a round."""
    rounds = zip(row["peers"][ours]["round_medians_us"], row["peers"][peer]["round_medians_us"], strict=False)
    ratios = [one / other for one, other in rounds]
    return min(ratios), max(ratios)


def micro(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}".replace(",", " ")


def exact(result: dict[str, Any]) -> bool:
    """null stands for infinity."""
    return all(error is not None and error <= 1 for error in result.get("errors", {}).values())


def cell(row: Row, peer: str) -> str:
    value = micro(median(row, peer))
    return value if median(row, peer) is None or exact(row["peers"][peer]) else value + "\\*"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times_table(results: dict[str, Any], threads: int) -> str:
    shown = [peer for peer in results["peers"] if peer != "stator_core"]
    header = ["median, µs", *(results["peers"][peer]["title"] for peer in shown), "Stator / best peer"]
    rows = []
    for row in rows_of(results, threads):
        best = fastest(row)
        cells = [cell(row, peer) for peer in shown]
        for peer in ("stator", best):
            if peer in shown and cells[shown.index(peer)] != "-":
                cells[shown.index(peer)] = f"**{cells[shown.index(peer)]}**"
        value = ratio(row, best)
        rows.append([row["title"], *cells, f"{value:.2f}" if value else "-"])
    return table(header, rows)


def detail_table(results: dict[str, Any], threads: int) -> str:
    header = ["model", "peer", "p50, µs", "p99, µs", "load, ms", "first run, ms", "peak memory, MB", "error / tolerance"]
    rows = []
    for row in rows_of(results, threads):
        for peer, result in row["peers"].items():
            if "p50_us" not in result:
                rows.append([row["title"], PEERS[peer].title, result.get("missing") or result.get("failed", ""), *[""] * 5])
                continue
            errors = list(result["errors"].values())
            worst = "differs" if None in errors else f"{max(errors):.2g}"
            numbers = [micro(result["p50_us"]), micro(result["p99_us"])]
            once = [f"{result['load_us'] / 1e3:.1f}", f"{result['first_us'] / 1e3:.1f}", f"{result['peak_kb'] / 1024:.1f}"]
            rows.append([row["title"], PEERS[peer].title, *numbers, *once, worst])
    return table(header, rows)


def targets_table(results: dict[str, Any]) -> str:
    rows = []
    for row in rows_of(results, 1):
        bounds = [("stator", fastest(row) if name == "best" else name, bound) for name, bound in TARGETS.get(row["model"], {}).items()]
        for ours, peer, bound in [*bounds, ("stator_pt2", "stator", EXPORT_TARGET)]:
            value = ratio(row, peer, ours)
            if value is None:
                continue
            low, high = spread(row, peer, ours)
            verdict = "met" if value <= bound else "missed"
            pair = [PEERS[ours].title, PEERS[peer].title]
            rows.append([row["title"], *pair, f"{value:.3f}", f"{low:.3f} to {high:.3f}", f"≤ {bound:.2f}", verdict])
    return table(["model, one thread", "of", "peer", "ratio", "by round", "target", ""], rows)


def interface_cost(results: dict[str, Any]) -> str:
    """What the C interface adds to the core, on the model where noise hides it least."""
    rows = [row for row in rows_of(results, 1) if median(row, "stator") and median(row, "stator_core")]
    if not rows:
        return ""
    row = min(rows, key=lambda row: median(row, "stator_core"))
    both = zip(row["peers"]["stator"]["round_medians_us"], row["peers"]["stator_core"]["round_medians_us"], strict=False)
    cost = statistics.median((ours - core) * 1e3 for ours, core in both)
    return f"The C interface adds {cost:.0f} ns to a call of the core on {row['title']} (target: at most {C_INTERFACE_NS})."


def languages_table(results: dict[str, Any]) -> str:
    header = ["language", "model", "empty call, ns", "run, ns", "the same run in C, ns", "over C, ns", "over C / empty call"]
    rows = []
    for entry in results.get("languages", []):
        if "failed" in entry:
            rows.append([entry["language"], entry["failed"], *[""] * 5])
            continue
        over = entry["run_ns"] - entry["c_ns"]
        numbers = [entry["empty_ns"], entry["run_ns"], entry["c_ns"], over]
        rows.append([entry["language"], entry["model"], *(f"{number:.0f}" for number in numbers), f"{over / entry['empty_ns']:.2f}"])
    return table(header, rows) if rows else ""


def wrong_results(results: dict[str, Any]) -> list[str]:
    """Where Stator does not give what eager PyTorch does."""
    return [
        f"{row['title']}, {row['threads']} thread(s), {PEERS[peer].title}: not within tolerance of eager PyTorch: {result['errors']}"
        for row in results["rows"]
        for peer, result in row["peers"].items()
        if PEERS[peer].ours and not exact(result)
    ]


def rows_of(results: dict[str, Any], threads: int) -> list[Row]:
    return [row for row in results["rows"] if row["threads"] == threads]


def setup_lines(results: dict[str, Any]) -> str:
    machine = results["machine"]
    versions = ", ".join(f"{package} {version}" for package, version in machine["versions"].items())
    lines = [f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; {versions}; {machine['date']}.", ""]
    lines += [f"- {peer['title']}: {peer['setup']}" for peer in results["peers"].values()]
    return "\n".join(lines)


def summary(results: dict[str, Any]) -> str:
    threads = sorted({row["threads"] for row in results["rows"]})
    parts = []
    for count in threads:
        title = "One thread, pinned to one core" if count == 1 else f"All {count} cores"
        parts += [f"{title}:", times_table(results, count)]
    parts += [
        "\\* differs from eager PyTorch by more than torch.testing.assert_close allows and eager's own rounding",
        interface_cost(results),
    ]
    languages = languages_table(results)
    parts += ["What the languages add to a run:", languages] if languages else []
    parts += ["How each was set up:", setup_lines(results)]
    return "\n\n".join(part for part in parts if part)


def put_between_markers(file: Path, text: str) -> None:
    content = file.read_text()
    if BEGIN not in content or END not in content:
        sys.exit(f"{file} has no lines {BEGIN} and {END}")
    before, rest = content.split(BEGIN, 1)
    file.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--readme", type=Path)
    parser.add_argument("--chart", type=Path)
    arguments = parser.parse_args()
    results = with_faster_variants(json.loads(arguments.results.read_text()))
    for threads in sorted({row["threads"] for row in results["rows"]}):
        print(f"\n{threads} thread(s)\n\n{detail_table(results, threads)}")
    print(f"\n{summary(results)}\n\n{targets_table(results)}")
    picture = arguments.chart or arguments.results.with_name("chart.svg")
    bars = [(row["title"], value) for row in rows_of(results, 1) if (value := ratio(row, fastest(row)))]
    picture.write_text(chart("Median time of a run, one thread: Stator as a part of the best peer's", bars))
    print(f"\nchart: {picture}")
    if arguments.readme:
        put_between_markers(arguments.readme, summary(results))
    wrong = wrong_results(results)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
