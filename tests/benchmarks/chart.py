#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the chart of the README: chart.py FILE.json... >chart.svg

Reads the rows of ./dev bench --json, and of ./dev bench --peers --json for those of other sandboxes. Each bar is how many
times as long as a plain process with captured output /usr/bin/true took. The axis is logarithmic.
"""

import json
import math
import sys
from html import escape
from pathlib import Path

OURS = {
    'run-true-armed': 'sandbox-glib',
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
WIDTH, LABEL, ROW, HEAD, FOOT = 760, 262, 30, 62, 44
STYLE = '''
    text { font: 14px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600; font-size: 16px }
    .small { font-size: 12px; fill: #59636e }
    .grid { stroke: #d1d9e0 }
    .ours { fill: #1a7f37 }
    .other { fill: #8c959f }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .small { fill: #9198a1 }
      .grid { stroke: #3d444d }
      .ours { fill: #3fb950 }
      .other { fill: #6e7681 }
    }
'''


def read(paths):
    """The ratios to a plain process by name."""
    rows = [row for path in paths for row in json.loads(Path(path).read_text())]
    return {row['name']: row for row in rows if row['baseline'] == 'posix_spawn' and row['ratio']}


def draw(rows):
    bars = [(label, rows[name], 'ours') for name, label in OURS.items() if name in rows]
    bars += sorted(((label, rows[name], 'other') for name, label in OTHERS.items() if name in rows), key=lambda bar: bar[1]['ratio'])
    # Room on the right for the number behind the longest bar
    decades = max(1, math.ceil(math.log10(max(row['ratio'] for _, row, _ in bars)) + 0.15))
    scale = (WIDTH - LABEL - 12) / decades
    bottom = HEAD + ROW * len(bars)

    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT}" width="{WIDTH}" height="{bottom + FOOT}" role="img">'
    # In halves, as reuse reads this file too
    yield '  <!-- SPDX-License-' 'Identifier: LGPL-2.1-or-later -->'
    yield '  <!-- Made by tests/benchmarks/chart.py -->'
    yield '  <title>Time to run /usr/bin/true in a sandbox</title>'
    yield f'  <style>{STYLE}  </style>'
    yield '  <text class="title" x="12" y="24">Time to run /usr/bin/true in a sandbox</text>'
    yield '  <text class="small" x="12" y="44">times a plain process with captured output; median; shorter is better</text>'
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


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    rows = read(sys.argv[1:])
    if not rows.keys() & OURS.keys():
        sys.exit('chart.py: none of the rows is of sandbox-glib')
    print('\n'.join(draw(rows)))


if __name__ == '__main__':
    main()
