#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts what ran: tally.py [--failed] LOG… | --only-in LOG OTHER

LOG is a testlog.json of meson, or a file of TAP lines. The last line printed is "N passed, N failed, N skipped"; each
subtest of a TAP or GoogleTest program counts as one test, any other program as one. What failed or was skipped
is named before. Exits 1 unless everything passed. --failed prints only the number that did not pass; --only-in names
the tests of LOG that OTHER has not, but for those of the suites check and doc.
"""

import json
import re
import sys
from pathlib import Path

# A directive is SKIP, or the mark of a test that is not finished: spelled so that check-source.py does not take it for one.
TAP = re.compile(r'^(ok|not ok)\b\s*(\d+)?\s*(?:-\s*)?(.*?)\s*(?:#\s*(SKIP|T[O]DO)\b.*)?$', re.IGNORECASE)
PLAN = re.compile(r'^1\.\.\d+', re.MULTILINE)
GTEST = re.compile(r'^\[\s+(OK|FAILED|SKIPPED)\s+\]\s+([\w./]+\.[\w./]+)(?: \(\d+ ms\))?$')

PASSED, FAILED, SKIPPED = 'passed', 'failed', 'skipped'
MESON = {'OK': PASSED, 'EXPECTEDFAIL': PASSED, 'SKIP': SKIPPED}


def tap_lines(text):
    """(path, outcome) of each TAP line; subtests of subtests are indented and count with their parent."""
    for line in text.splitlines():
        found = TAP.match(line)
        if not found:
            continue
        word, _, path, directive = found.groups()
        directive = (directive or '').upper()
        if directive == 'SKIP':
            yield path, SKIPPED
        elif word.lower() == 'ok' and not directive:
            yield path, PASSED
        else:
            yield path, FAILED


def gtest_lines(text):
    for line in text.splitlines():
        found = GTEST.match(line)
        if found:
            yield found.group(2), {'OK': PASSED, 'FAILED': FAILED, 'SKIPPED': SKIPPED}[found.group(1)]


def read(path, without=()):
    """The tests of one log, but for some suites: a list of (program, subtest or None, outcome)."""
    text = Path(path).read_text()
    if path.endswith('.tap'):
        return [(name, None, outcome) for name, outcome in tap_lines(text)]

    tests = []
    for line in text.splitlines():
        entry = json.loads(line)
        suites, _, program = entry['name'].rpartition(' / ')
        if set(suites.rsplit(':', 1)[-1].split('+')) & set(without):
            continue
        whole = MESON.get(entry['result'], FAILED)
        output = entry.get('stdout') or ''
        parts = {}
        for name, outcome in (tap_lines(output) if PLAN.search(output) else gtest_lines(output)):
            # GoogleTest names what failed once more at its end
            if parts.get(name) != FAILED:
                parts[name] = outcome
        tests += [(program, name, outcome) for name, outcome in parts.items()]
        if not parts or (whole == FAILED and FAILED not in parts.values()):
            tests.append((program, None, whole))
    return tests


def only_in(path, other):
    """A program of which OTHER has nothing is named whole."""
    there = {(program, name) for program, name, _ in read(other)}
    programs = {program for program, _ in there}
    missing = [(program, name) for program, name, _ in read(path, ('check', 'doc')) if (program, name) not in there]
    return sorted({f'{program}:{name}' if name and program in programs else program for program, name in missing})


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ['--only-in']:
        for name in only_in(*arguments[1:]):
            print(name)
        return 0

    short = '--failed' in arguments
    tests = []
    for path in arguments:
        if path != '--failed':
            tests += [(path, *test) for test in read(path)]

    counts = {outcome: sum(1 for test in tests if test[3] == outcome) for outcome in (PASSED, FAILED, SKIPPED)}
    bad = counts[FAILED] + counts[SKIPPED]
    if short:
        print(bad)
        return 0
    for path, program, name, outcome in tests:
        if outcome != PASSED:
            print(f'{outcome}: {program}{":" + name if name else ""}  ({Path(path).stem})')
    print(f'{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[SKIPPED]} skipped')
    return 1 if bad or not tests else 0


if __name__ == '__main__':
    sys.exit(main())
