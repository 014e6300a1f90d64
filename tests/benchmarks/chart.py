#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the charts of the README: chart.py [--growth] FILE.json... >speed.svg

Reads the rows of ./dev bench --json, and of ./dev bench --peers --json for those of other sandboxes. Each bar is how many
times as long as a plain process with captured output /usr/bin/true took. With --growth, three curves: what more commands,
sessions and files cost. All axes are logarithmic.
"""

import json
import math
import re
import sys
from html import escape
from pathlib import Path

OURS = {
    'run-true-armed': 'sandbox-glib, a slot armed',
    'run-true-dispatch': 'sandbox-glib, no slot armed',
    'run-true-one-bwrap': 'sandbox-glib, one bwrap per command',
}
OTHERS = {
    'run-true-bare-bwrap': 'bwrap',
    'peer-unshare': 'unshare',
    'peer-crun': 'crun run',
    'peer-firejail': 'firejail',
    'peer-sandbox-runtime': 'sandbox-runtime',
    'peer-systemd-nspawn': 'systemd-nspawn',
    'peer-podman-exec': 'podman exec',
    'peer-podman-run': 'podman run',
}
WIDTH, LABEL, NUMBER, ROW, HEAD, FOOT = 760, 290, 138, 30, 62, 44
# Title, what the ratios refer to, which rows; the count is in the name.
CURVES = [
    ('Commands of one session', 'with its start, to as many processes', r'commands-(\d+)'),
    ('Open sessions', 'a command in one, to a process', r'sessions-(\d+)'),
    ('Files of a template', 'a session of it, to one of 1 file', r'create-(\d+)(-overlay)?'),
]
PANEL, GAP, PLOT, TOP = 236, 20, 150, HEAD + 56
STYLE = '''
    text { font: 14px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600; font-size: 16px }
    .small { font-size: 12px; fill: #59636e }
    .grid { stroke: #d1d9e0 }
    .ours { fill: #1a7f37 }
    .other { fill: #8c959f }
    .curve { stroke: #1a7f37; stroke-width: 2; fill: none }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .small { fill: #9198a1 }
      .grid { stroke: #3d444d }
      .ours { fill: #3fb950 }
      .other { fill: #6e7681 }
      .curve { stroke: #3fb950 }
    }
'''


def read(paths):
    """The rows that have a ratio, and the one of a single file, which the others refer to; by name."""
    rows = [row for path in paths for row in json.loads(Path(path).read_text())]
    return {row['name']: row for row in rows if row['ratio'] or row['name'] == 'create-1'}


def begin(title, subtitle, height):
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    # In halves, as reuse reads this file too
    yield '  <!-- SPDX-License-' 'Identifier: LGPL-2.1-or-later -->'
    yield '  <!-- Made by tests/benchmarks/chart.py -->'
    yield f'  <title>{escape(title)}</title>'
    yield f'  <style>{STYLE}  </style>'
    yield f'  <text class="title" x="12" y="24">{escape(title)}</text>'
    yield f'  <text class="small" x="12" y="44">{escape(subtitle)}</text>'


def draw(rows):
    bars = [(label, rows[name], 'ours') for name, label in OURS.items() if name in rows]
    bars += sorted(((label, rows[name], 'other') for name, label in OTHERS.items() if name in rows), key=lambda bar: bar[1]['ratio'])
    longest = max(1, math.log10(max(row['ratio'] for _, row, _ in bars)))
    # Room on the right for the number behind the longest bar
    scale = (WIDTH - LABEL - NUMBER) / longest
    decades = math.floor((WIDTH - 24 - LABEL) / scale)
    bottom = HEAD + ROW * len(bars)

    yield from begin('Time to run /usr/bin/true in a sandbox', 'times a plain process with captured output; medians; logarithmic; shorter is better',
                     bottom + FOOT)
    for decade in range(decades + 1):
        at = LABEL + scale * decade
        yield f'  <line class="grid" x1="{at:.1f}" y1="{HEAD - 6}" x2="{at:.1f}" y2="{bottom}"/>'
        yield f'  <text class="small" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{10 ** decade}x</text>'
    for count, (label, row, kind) in enumerate(bars):
        top = HEAD + ROW * count
        # What is as fast as a plain process has a bar too.
        length = max(3, scale * math.log10(max(1, row['ratio'])))
        yield f'  <text x="{LABEL - 10}" y="{top + 19}" text-anchor="end">{escape(label)}</text>'
        yield f'  <rect class="{kind}" x="{LABEL}" y="{top + 5}" width="{length:.1f}" height="{ROW - 10}" rx="3"/>'
        yield f'  <text x="{LABEL + length + 8:.1f}" y="{top + 19}">{row["ratio"]:.2f}x <tspan class="small">{row["p50_us"] / 1000:.1f} ms</tspan></text>'
    yield '</svg>'


def draw_curve(left, title, subtitle, points):
    """A panel: counts from left to right, ratios upwards."""
    bottom, right = TOP + PLOT, left + PANEL
    first, decades = 1 / 3, max(1.5, math.log10(max(ratio for _, ratio in points) * 3) + 0.1)
    columns = max(1, math.log10(points[-1][0]))

    yield f'  <text x="{left}" y="{HEAD + 14}">{escape(title)}</text>'
    yield f'  <text class="small" x="{left}" y="{HEAD + 32}">{escape(subtitle)}</text>'
    exponent = 0
    while exponent <= decades - math.log10(3):
        at = bottom - PLOT * (exponent - math.log10(first)) / decades
        yield f'  <line class="grid" x1="{left + 34}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}"/>'
        yield f'  <text class="small" x="{left + 28}" y="{at + 4:.1f}" text-anchor="end">{10 ** exponent}x</text>'
        exponent += 1
    places = [(left + 48 + (PANEL - 70) * math.log10(count) / columns, bottom - PLOT * math.log10(ratio / first) / decades, count, ratio)
              for count, ratio in points]
    yield f'  <polyline class="curve" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)}"/>'
    for x, y, count, ratio in places:
        words = f'{count // 1000}k' if count >= 1000 else str(count)
        yield f'  <circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        yield f'  <text class="small" x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{ratio:.1f}</text>'
        yield f'  <text class="small" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{words}</text>'


def draw_growth(rows):
    yield from begin('What more of it costs', 'ratios of medians; logarithmic; lower is better', TOP + PLOT + FOOT)
    for panel, (title, subtitle, pattern) in enumerate(CURVES):
        points = sorted((int(found[1]), row['ratio'] or 1) for name, row in rows.items() if (found := re.fullmatch(pattern, name)))
        if not points:
            sys.exit(f'chart.py: no rows of the curve "{title}"')
        yield from draw_curve(12 + panel * (PANEL + GAP), title, subtitle, points)
    yield '</svg>'


def main():
    growth = sys.argv[1:2] == ['--growth']
    paths = sys.argv[2:] if growth else sys.argv[1:]
    if not paths:
        sys.exit(__doc__.splitlines()[0])
    rows = read(paths)
    if not growth and not rows.keys() & OURS.keys():
        sys.exit('chart.py: none of the rows is of sandbox-glib')
    print('\n'.join(draw_growth(rows) if growth else draw(rows)))


if __name__ == '__main__':
    main()
