# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the unittest cases of a program and prints TAP: tap.main()"""

import sys
import threading
import unittest


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.failed = 0

    def report(self, test, error):
        self.count += 1
        name = test.id().removeprefix('__main__.').replace('.', '/')
        if error is not None:
            self.failed += 1
            for line in error.splitlines():
                print('#', line)
        print('not ok' if error is not None else 'ok', self.count, f'/{name}', flush=True)

    def addSuccess(self, test):
        self.report(test, None)

    def addError(self, test, err):
        self.report(test, self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        self.report(test, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.report(subtest, self._exc_info_to_string(err, test))

    # Nothing is left out: a skipped test is a failed one.
    def addSkip(self, test, reason):
        self.report(test, f'skipped: {reason}')

    def addUnexpectedSuccess(self, test):
        self.report(test, 'succeeded unexpectedly')

    def addExpectedFailure(self, test, err):
        self.report(test, 'failed, as somebody expected')


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    result = Result()
    suite.run(result)
    print(f'1..{result.count}', flush=True)
    # Those of the driver: none is to be in the midst of Python when the interpreter is torn down.
    for thread in threading.enumerate():
        if type(thread) is threading.Thread and thread.daemon:
            thread.join(30)
    sys.exit(0 if result.count and not result.failed else 1)
