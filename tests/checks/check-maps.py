#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lists that map what must hold to the tests that show it: check-maps.py LIST… [--unprivileged] [--log LOG]… | --self-test

A list has a line of its own for each item, three columns apart by a tab, and says which numbers it owes:

    @items 2A.1-64 2B.1-26
    2A.3<TAB>A backend has a name<TAB>registry:/registry/names
    2A.7<TAB>Configuration is strict<TAB>conformance-*:/create/strict, stub

The third column is one of
    TEST, TEST…    names of tests; each ran and passed. TEST is PROGRAM, or PROGRAM:/path for one subtest; a * stands
                   for anything and then at least one test matches and every match passed; one that needs root ends
                   in " (root)"
    - REASON       nothing here can show it, or something else replaces it
    later: PART    the part of the plan that brings it

Without a log only the form is checked. With logs (testlog.json of meson, or TAP), every named test must have passed in
each log that has it and be in one at least. Those that need root may be missing from what an --unprivileged user ran.
"""

import re
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

import tally

RANGE = re.compile(r'^(?:(\w+)\.)?(\d+)(?:-(\d+))?$')


def owed(words):
    for word in words:
        found = RANGE.match(word)
        if not found:
            raise ValueError(f'not a range of items: {word}')
        prefix, first, last = found.groups()
        for number in range(int(first), int(last or first) + 1):
            yield f'{prefix}.{number}' if prefix else str(number)


def check_tests(where, verdict, tests, privileged, faults):
    for word in verdict.split(','):
        pattern = word.strip().removesuffix(' (root)')
        needs_root = word.endswith(' (root)')
        if not re.match(r'^[\w*.-]+(?::/?[^\s:][^:]*)?$', pattern):
            faults.append(f'{where}: "{pattern}" is no name of a test')
            continue
        if tests is None:
            continue
        matches = [(program, name, outcome) for program, name, outcome in tests
                   if fnmatchcase(f'{program}:{name}' if ':' in pattern else program, pattern)]
        if not matches and (privileged or not needs_root):
            faults.append(f'{where}: {pattern} did not run')
        for program, name, outcome in matches:
            if outcome != tally.PASSED:
                faults.append(f'{where}: {program}{":" + name if name else ""} {outcome}')


def check(path, tests, privileged=True):
    faults = []
    want = []
    seen = set()

    for count, line in enumerate(Path(path).read_text().splitlines(), 1):
        where = f'{Path(path).name}:{count}'
        if line.startswith('@items '):
            want += owed(line.split()[1:])
            continue
        if not line or line.startswith('#'):
            continue
        columns = line.split('\t')
        if len(columns) != 3 or not all(column.strip() for column in columns):
            faults.append(f'{where}: not three columns')
            continue
        item, _, verdict = columns
        if item in seen:
            faults.append(f'{where}: {item} stands twice')
        if item not in want:
            faults.append(f'{where}: {item} is not owed')
        seen.add(item)
        if verdict.startswith('-'):
            if not re.match(r'^- \S.{8,}', verdict):
                faults.append(f'{where}: {item} gives no reason')
        elif verdict.startswith('later:'):
            if not re.match(r'^later: part [A-Z]$', verdict):
                faults.append(f'{where}: {item} names no part')
        else:
            check_tests(f'{where}: {item}', verdict, tests, privileged, faults)

    if not want:
        faults.append(f'{path}: owes nothing')
    faults += [f'{path}: {item} is missing' for item in want if item not in seen]
    return faults


def self_test():
    """Each fault is seen, and nothing else is."""
    tests = [('one', '/a', tally.PASSED), ('one', '/b', tally.FAILED), ('two', None, tally.PASSED),
             ('drivers-c', '/x', tally.PASSED), ('drivers-py', '/x', tally.PASSED)]
    good = '@items 1-4 A.1-2\n1\tt\tone:/a\n2\tt\ttwo, one:/a\n3\tt\t- cannot be shown here\n4\tt\tlater: part B\n' \
           'A.1\tt\tdrivers-*:/x\nA.2\tt\ttwo\n'
    cases = [
        (good, None),
        (good.replace('3\tt\t- cannot be shown here\n', ''), '3 is missing'),
        (good + '2\tt\ttwo\n', '2 stands twice'),
        (good + '9\tt\ttwo\n', '9 is not owed'),
        (good.replace('A.2\tt\ttwo', 'A.2\tt\tthree'), 'three did not run'),
        (good.replace('A.2\tt\ttwo', 'A.2\tt\tone:/c'), 'one:/c did not run'),
        (good.replace('A.2\tt\ttwo', 'A.2\tt\tone:/b'), 'one:/b failed'),
        (good.replace('A.2\tt\ttwo', 'A.2\tt\tone:/*'), 'one:/b failed'),
        (good.replace('A.2\tt\ttwo', 'A.2\tt\tone'), 'one:/b failed'),
        (good.replace('A.2\tt\ttwo', 'A.2\tt\ttwo words'), 'no name of a test'),
        (good.replace('- cannot be shown here', '-'), 'gives no reason'),
        (good.replace('later: part B', 'later: soon'), 'names no part'),
        (good.replace('2\tt\ttwo, one:/a', '2\ttwo'), 'not three columns'),
        ('', 'owes nothing'),
    ]
    with tempfile.NamedTemporaryFile('w', suffix='.list') as file:
        file.write('@items 1\n1\tt\tfour (root), two\n')
        file.flush()
        if check(file.name, tests, False) or len(check(file.name, tests)) != 1:
            print('a test that needs root is wanted of root only')
            return 1

    for text, expected in cases:
        with tempfile.NamedTemporaryFile('w', suffix='.list') as file:
            file.write(text)
            file.flush()
            faults = check(file.name, tests)
        if (expected is None and faults) or (expected is not None and not any(expected in fault for fault in faults)):
            print(f'expected {expected!r}, got {faults}')
            return 1

    log = ('{"name": "p:unit / one", "result": "FAIL", "stdout": "TAP version 13\\nok 1 /a\\nnot ok 2 /b\\n'
           'ok 3 /c # SKIP no\\n1..3\\n"}\n{"name": "p:unit / two", "result": "OK", "stdout": "words"}\n'
           '{"name": "p:unit / three", "result": "TIMEOUT", "stdout": "ok 1 /a\\n1..2\\n"}\n'
           '{"name": "p:unit / four", "result": "OK", "stdout": "[       OK ] A.b (0 ms)\\n"}\n')
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        file.write(log)
        file.flush()
        have = tally.read(file.name)
    want = [('one', '/a', 'passed'), ('one', '/b', 'failed'), ('one', '/c', 'skipped'), ('two', None, 'passed'),
            ('three', '/a', 'passed'), ('three', None, 'failed'), ('four', 'A.b', 'passed')]
    if have != want:
        print(f'expected {want}, got {have}')
        return 1
    return 0


def main():
    arguments = sys.argv[1:]
    if arguments == ['--self-test']:
        return self_test()

    privileged = '--unprivileged' not in arguments
    arguments = [argument for argument in arguments if argument != '--unprivileged']
    lists, logs = [], []
    while arguments:
        argument = arguments.pop(0)
        if argument == '--log':
            logs.append(arguments.pop(0))
        else:
            lists.append(argument)

    tests = [test for log in logs for test in tally.read(log)] if logs else None
    faults = [fault for path in lists for fault in check(path, tests, privileged)]
    for fault in dict.fromkeys(faults):
        print(fault)
    return 1 if faults or not lists else 0


if __name__ == '__main__':
    sys.exit(main())
