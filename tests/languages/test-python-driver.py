#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The checks of tests/conformance over a driver in Python, in both forms of every call, and what is particular to one."""

import gc
import os
import signal
import threading
import time
import unittest

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, Sandbox

import memory_driver
import tap

LIMIT = 30
registry = Sandbox.Registry.new()
registry.add_type('python-memory', 10, memory_driver.Backend)


def spin(predicate):
    end = time.monotonic() + LIMIT
    while not predicate():
        if time.monotonic() > end:
            raise AssertionError('waited in vain')
        if not GLib.MainContext.default().iteration(False):
            time.sleep(0.0005)


def command(*argv, **properties):
    return Sandbox.Command(argv=argv, **properties)


class Checks:
    """Over a backend that the registry made; `call` is the one form or the other."""

    def setUp(self):
        memory_driver.Backend.answer = self.answer
        self.backend = registry.create_backend('python-memory', None)
        self.handle = self.call(self.backend, 'create', Sandbox.CreateOptions(max_file_bytes=100000), None)
        self.session = self.handle.get_session()
        self.driver = memory_driver.Backend.drivers[-1]

    def tearDown(self):
        self.driver.answer = 'now'
        self.driver.answer_held()
        self.assertTrue(self.call(self.handle, 'stop', None))
        self.assertEqual(self.driver.live, set())
        allowed = {threading.get_ident()}
        self.assertEqual([name for name, thread in self.driver.calls if thread not in allowed], [])

    def refused(self, code, *args):
        with self.assertRaises(GLib.Error) as caught:
            self.call(*args)
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), code), caught.exception)
        self.assertNotEqual(caught.exception.message, '')

    def cancelled(self, *args):
        with self.assertRaises(GLib.Error) as caught:
            self.call(*args)
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED), caught.exception)

    def run_command(self, *argv, **properties):
        return self.call(self.session, 'run', command(*argv, **properties), None)

    def spawn(self, *argv, **properties):
        return self.call(self.session, 'spawn', command(*argv, **properties), None)

    def assert_output(self, output, *argv, **properties):
        result = self.run_command(*argv, **properties)
        self.assertTrue(result.check())
        self.assertEqual(result.get_stdout().get_data(), output)
        self.assertEqual(result.get_stderr().get_data(), b'')

    def test_backend(self):
        for profile in None, Sandbox.Profile.new():
            report = self.call(self.backend, 'probe', profile, None)
            self.assertEqual(report.get_grade(), Sandbox.Grade.PARTIAL)
            self.assertEqual(report.get_gaps(), ['Toys need no walls'])
        self.assertEqual(self.backend.plan(command('echo'), Sandbox.CreateOptions()), '{"program": "echo"}')
        network = Sandbox.NetworkPolicy.new_allow_all()
        self.refused(Sandbox.Error.NETWORK_DENIED, self.backend, 'create', Sandbox.CreateOptions(network=network), None)
        self.refused(Sandbox.Error.NOT_FOUND, self.backend, 'create', Sandbox.CreateOptions(workspace_path='/no/where'), None)

    def test_files(self):
        for name in 'plain', 'with space', '-rf', 'a\nb', 'Größe €', '\\xff\\xfe', 'deep/er/still':
            for size in 0, 1, 65537, 100000:
                data = os.urandom(size)
                self.assertTrue(self.call(self.session, 'write_bytes', name, GLib.Bytes.new(data), None))
                self.assertEqual(self.call(self.session, 'read_bytes', f'/workspace/{name}', None).get_data() or b'', data)
            self.assertTrue(self.call(self.session, 'remove_path', name, None))
            self.refused(Sandbox.Error.NOT_FOUND, self.session, 'read_bytes', name, None)

    def test_text(self):
        for text in '', 'plain\n', 'Größe €':
            self.assertTrue(self.call(self.session, 'write_text', 'dir/text', text, None))
            self.assertEqual(self.call(self.session, 'read_text', 'dir/text', None), text)
        for data in b'a\xffb', b'a\0b':
            self.call(self.session, 'write_bytes', 'bad', GLib.Bytes.new(data), None)
            self.refused(Sandbox.Error.INVALID, self.session, 'read_text', 'bad', None)

    def test_file_refusals(self):
        some = GLib.Bytes.new(b'x')
        for path in '', '/etc/passwd', '..', 'a/../b', './a', 'a//b', '\\x41':
            self.refused(Sandbox.Error.PATH, self.session, 'read_bytes', path, None)
            self.refused(Sandbox.Error.PATH, self.session, 'write_bytes', path, some, None)
            self.refused(Sandbox.Error.PATH, self.session, 'remove_path', path, None)
        self.refused(Sandbox.Error.LIMIT, self.session, 'write_bytes', 'large', GLib.Bytes.new(bytes(100001)), None)
        self.assertTrue(self.call(self.session, 'write_bytes', 'dir/file', some, None))
        self.refused(Sandbox.Error.INVALID, self.session, 'read_bytes', 'dir', None)
        self.refused(Sandbox.Error.INVALID, self.session, 'write_bytes', '.', some, None)
        self.refused(Sandbox.Error.PATH, self.session, 'write_bytes', 'dir/file/below', some, None)
        self.refused(Sandbox.Error.PATH, self.session, 'remove_path', '.', None)
        self.driver.files['huge'] = bytes(100001)
        self.refused(Sandbox.Error.LIMIT, self.session, 'read_bytes', 'huge', None)
        self.assertTrue(self.call(self.session, 'remove_path', 'dir', None))
        self.refused(Sandbox.Error.NOT_FOUND, self.session, 'read_text', 'dir/file', None)

    def test_run(self):
        self.assert_output(b' two  words Gr\xc3\xb6\xc3\x9fe\n', 'echo', '', 'two  words', 'Größe')
        self.assert_output(b'blue\n', 'env', 'COLOUR', environment=['COLOUR=blue'])
        self.assertTrue(self.call(self.session, 'write_text', 'here/file', 'in a file', None))
        self.assert_output(b'/workspace/here\n', 'pwd', cwd='here')
        self.assert_output(b'/workspace\n', 'pwd')
        self.assert_output(b'in a file', 'cat', 'here/file')
        self.assert_output(b'from\0the host', 'cat', stdin=GLib.Bytes.new(b'from\0the host'))
        self.assert_output(b'', 'cat')
        missing = self.run_command('cat', 'nowhere')
        self.assertEqual(missing.get_exit_status(), 1)
        self.assertEqual(missing.dup_stderr_text(), 'no such file\n')

    def test_ends(self):
        for status in 0, 1, 127, 255:
            result = self.run_command('exit', str(status))
            self.assertEqual((result.get_outcome(), result.get_exit_status(), result.get_signal()),
                             (Sandbox.Outcome.EXITED, status, 0))
        result = self.run_command('signal', '11')
        self.assertEqual((result.get_outcome(), result.get_exit_status(), result.get_signal()),
                         (Sandbox.Outcome.SIGNALED, -1, 11))
        self.assertEqual(self.run_command('vanish').get_outcome(), Sandbox.Outcome.LOST)
        with self.assertRaises(GLib.Error) as caught:
            self.run_command('exit', '3').check()
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.FAILED))

    def test_not_started(self):
        self.backend.set_max_concurrent_commands(1)
        self.call(self.session, 'write_text', 'script', 'x', None)
        for code, wrong in (
                (Sandbox.Error.INVALID, command('')),
                (Sandbox.Error.LIMIT, command('echo', 'x' * 200000)),
                (Sandbox.Error.NOT_FOUND, command('no-such-program')),
                (Sandbox.Error.DENIED, command('script')),
                (Sandbox.Error.NOT_FOUND, command('pwd', cwd='missing')),
                (Sandbox.Error.PATH, command('pwd', cwd='script')),
                (Sandbox.Error.PATH, command('pwd', cwd='/etc')),
                (Sandbox.Error.NOT_SUPPORTED, command('echo', terminal=True)),
                (Sandbox.Error.NOT_SUPPORTED, command('echo', limits=Sandbox.Limits(open_files=64))),
        ):
            self.refused(code, self.session, 'run', wrong, None)
            self.refused(code, self.session, 'spawn', wrong, None)
        self.assert_output(b'free\n', 'echo', 'free')

    def test_output(self):
        for output, errors, over in (99999, 0, 0), (50000, 50000, 0), (50001, 50000, 1), (0, 100001, 1):
            for action in Sandbox.OutputLimitAction.KILL, Sandbox.OutputLimitAction.TRUNCATE:
                result = self.run_command('flood', str(output), str(errors), max_output=100000, output_limit_action=action)
                kept = result.get_stdout().get_size() + result.get_stderr().get_size()
                self.assertEqual(kept, output + errors - over)
                self.assertEqual(result.get_truncated(), over > 0)
                killed = over and action == Sandbox.OutputLimitAction.KILL
                self.assertEqual(result.get_outcome(), Sandbox.Outcome.OUTPUT_LIMIT if killed else Sandbox.Outcome.EXITED)
        result = self.run_command('yes', max_output=65536)
        self.assertEqual(result.get_outcome(), Sandbox.Outcome.OUTPUT_LIMIT)
        self.assertEqual(result.get_stdout().get_size(), 65536)

    def test_time(self):
        before = time.monotonic()
        result = self.run_command('hang', timeout_ms=200)
        self.assertEqual(result.get_outcome(), Sandbox.Outcome.TIMED_OUT)
        self.assertGreaterEqual(time.monotonic() - before, 0.19)
        self.assertLess(time.monotonic() - before, 5)

    def test_cancelled(self):
        cancellable = Gio.Cancellable()
        cancellable.cancel()
        self.cancelled(self.session, 'read_bytes', 'f', cancellable)
        self.cancelled(self.session, 'run', command('echo'), cancellable)
        cancellable = Gio.Cancellable()
        threading.Timer(0.1, cancellable.cancel).start()
        self.cancelled(self.session, 'run', command('hang'), cancellable)
        spin(lambda: not self.driver.live)

    def test_spawn(self):
        process = self.spawn('cat')
        listed = self.session.list_processes()
        self.assertEqual(len(listed), 1)
        self.assertIs(listed[0], process)
        process.get_stdin().write_all(b'ping', None)
        self.assertEqual(process.get_stdout().read_bytes(16, None).get_data(), b'ping')
        process.get_stdin().close(None)
        self.assertTrue(self.call(process, 'wait', None))
        self.assertEqual(process.get_result().get_exit_status(), 0)
        self.assertEqual(len(self.session.list_processes()), 0)

    def test_communicate(self):
        data = os.urandom(1 << 20)
        result = self.call(self.spawn('cat', max_output=2 << 20), 'communicate', GLib.Bytes.new(data), None)
        self.assertEqual(result.get_stdout().get_data(), data)
        result = self.call(self.spawn('cat'), 'communicate', None, None)
        self.assertEqual(result.get_stdout().get_size(), 0)
        # A pipe of Python's blocks; what is not read must not block the library with it.
        result = self.call(self.spawn('sleep', '100'), 'communicate', GLib.Bytes.new(data), None)
        self.assertEqual(result.get_exit_status(), 0)

    def test_signals(self):
        process = self.spawn('sleep')
        self.assertTrue(process.send_signal(signal.SIGTERM))
        self.assertTrue(self.call(process, 'wait', None))
        self.assertEqual(process.get_result().get_signal(), signal.SIGTERM)
        process = self.spawn('hang', kill_grace_ms=100)
        self.assertTrue(self.call(process, 'stop', None))
        self.assertEqual(process.get_result().get_outcome(), Sandbox.Outcome.STOPPED)
        process = self.spawn('hang')
        with self.assertRaises(GLib.Error) as caught:
            process.resize(30, 90)
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.NOT_SUPPORTED))
        self.assertTrue(process.kill())
        self.assertTrue(self.call(process, 'wait', None))
        with self.assertRaises(GLib.Error) as caught:
            process.send_signal(signal.SIGTERM)
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.STOPPED))

    def test_wait_cancelled(self):
        process = self.spawn('hang')
        cancellable = Gio.Cancellable()
        threading.Timer(0.1, cancellable.cancel).start()
        before = time.monotonic()
        self.cancelled(process, 'wait', cancellable)
        self.assertLess(time.monotonic() - before, 5)
        self.assertIsNone(process.get_result())
        process.kill()
        self.call(process, 'wait', None)

    def test_busy(self):
        self.backend.set_max_concurrent_commands(2)
        first, second = self.spawn('hang'), self.spawn('hang')
        self.refused(Sandbox.Error.BUSY, self.session, 'run', command('echo'), None)
        first.kill()
        self.call(first, 'wait', None)
        self.assert_output(b'next\n', 'echo', 'next')
        second.kill()
        self.call(second, 'wait', None)

    def test_policies(self):
        deny, allow = Sandbox.NetworkPolicy.new_deny_all(), Sandbox.NetworkPolicy.new_allow_all()
        self.assertTrue(self.call(self.session, 'set_network_policy', deny, None))
        self.refused(Sandbox.Error.NETWORK_DENIED, self.session, 'set_network_policy', allow, None)
        process = self.spawn('hang')
        self.refused(Sandbox.Error.BUSY, self.session, 'set_network_policy', deny, None)
        process.kill()
        self.call(process, 'wait', None)

    def test_stop(self):
        processes = self.spawn('sleep'), self.spawn('hang', kill_grace_ms=100)
        self.assertEqual(self.handle.get_phase(), Sandbox.Phase.LIVE)
        self.assertTrue(self.call(self.handle, 'stop', None))
        self.assertEqual(self.handle.get_phase(), Sandbox.Phase.STOPPED)
        for process in processes:
            self.assertEqual(process.get_result().get_outcome(), Sandbox.Outcome.STOPPED)
        self.refused(Sandbox.Error.STOPPED, self.session, 'read_bytes', 'f', None)
        self.refused(Sandbox.Error.STOPPED, self.session, 'run', command('echo'), None)
        self.assertTrue(self.call(self.handle, 'shutdown', None))

    def test_many(self):
        for _ in range(50):
            self.assert_output(b'x\n', 'echo', 'x')
            gc.collect()
        descriptors = len(os.listdir('/proc/self/fd'))
        for number in range(200):
            self.assert_output(b'x\n', 'echo', 'x')
            self.refused(Sandbox.Error.NOT_FOUND, self.session, 'run', command('no-such-program'), None)
            self.call(self.session, 'write_text', 'f', 'x', None)
            self.assertEqual(self.call(self.session, 'read_text', 'f', None), 'x')
        gc.collect()
        spin(lambda: len(os.listdir('/proc/self/fd')) <= descriptors)


class Sync:
    def call(self, target, name, *args):
        return getattr(target, name)(*args)


class Async:
    def call(self, target, name, *args):
        answers = []
        getattr(target, f'{name}_async')(*args, lambda source, result: answers.append(result))
        self.assertEqual(answers, [])
        spin(lambda: answers)
        return getattr(target, f'{name}_finish')(answers[0])


class SyncNow(Sync, Checks, unittest.TestCase):
    answer = 'now'


class SyncThread(Sync, Checks, unittest.TestCase):
    answer = 'thread'


class AsyncNow(Async, Checks, unittest.TestCase):
    answer = 'now'


class AsyncThread(Async, Checks, unittest.TestCase):
    answer = 'thread'


class AsyncIdle(Async, Checks, unittest.TestCase):
    answer = 'idle'


class IllBehaved(unittest.TestCase):
    """Each call comes back once with an error, whatever the driver does."""

    def setUp(self):
        self.driver = memory_driver.Driver()
        self.session = Sandbox.Session.new_for_driver(self.driver)

    def fails(self, code, function, *args):
        with self.assertRaises(GLib.Error) as caught:
            function(*args)
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), code), caught.exception)

    def test_error_is_passed_on(self):
        self.driver.answer = 'error'
        self.fails(Sandbox.Error.DENIED, self.session.read_bytes, 'f', None)
        self.fails(Sandbox.Error.DENIED, self.session.run, command('echo'), None)

    def test_false_is_a_failure(self):
        self.driver.answer = 'false'
        self.fails(Sandbox.Error.FAILED, self.session.read_bytes, 'f', None)
        self.fails(Sandbox.Error.FAILED, self.session.write_text, 'f', 'x', None)

    def test_dropped_is_a_failure(self):
        self.driver.answer = 'dropped'
        before = time.monotonic()
        self.fails(Sandbox.Error.FAILED, self.session.read_bytes, 'f', None)
        self.assertLess(time.monotonic() - before, 5)

    def test_exception_is_a_failure(self):
        # PyGObject prints the traceback of any other exception; here it goes to the log of the test.
        self.driver.answer = 'no such manner'
        before = time.monotonic()
        self.fails(Sandbox.Error.FAILED, self.session.read_bytes, 'f', None)
        self.assertLess(time.monotonic() - before, 5)

    def test_waiting_below_a_synchronous_call(self):
        # The default context does not run there: it is an error when the time is up, and no hang.
        self.driver.answer = 'idle'
        before = time.monotonic()
        self.fails(Sandbox.Error.LIMIT, self.session.run, command('hang'), None)
        self.assertLess(time.monotonic() - before, 25)
        spin(lambda: not self.driver.live)

    def test_late_answer(self):
        self.driver.answer = 'held'
        cancellable = Gio.Cancellable()
        threading.Timer(0.05, cancellable.cancel).start()
        with self.assertRaises(GLib.Error) as caught:
            self.session.read_bytes('f', cancellable)
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))
        self.driver.answer_held()

    def test_cancelled_signal(self):
        self.driver.answer = 'held'
        told = []
        cancellable = Gio.Cancellable()
        answers = []
        self.session.read_bytes_async('f', cancellable, lambda source, result: answers.append(result))
        request = self.driver.held[0][0]
        request.connect('cancelled', lambda request: told.append(request.is_cancelled()))
        self.assertFalse(request.is_cancelled())
        cancellable.cancel()
        spin(lambda: answers and told)
        self.assertEqual(told, [True])
        self.driver.answer_held()

    def test_may_block(self):
        seen = []

        # Not derived from the other driver: PyGObject would change the functions of both.
        class Asked(memory_driver.GObject.Object, Sandbox.Driver):
            def do_read(self, path, offset, maximum, request):
                seen.append(request.may_block())
                request.return_bytes(GLib.Bytes.new(b''))
                return True

        session = Sandbox.Session.new_for_driver(Asked())
        session.read_bytes('f', None)
        answers = []
        session.read_bytes_async('f', None, lambda source, result: answers.append(result))
        spin(lambda: answers)
        self.assertEqual(seen, [True, False])

    def test_kept_driver(self):
        # The wrapper may go while the session has the object; its attributes stay.
        session = self.session
        del self.driver
        gc.collect()
        session.write_text('f', 'kept', None)
        gc.collect()
        self.assertEqual(session.read_text('f', None), 'kept')


class Empty(unittest.TestCase):
    def test_nothing_implemented(self):
        class Nothing(memory_driver.GObject.Object, Sandbox.Driver):
            pass

        with self.assertRaises(GLib.Error) as caught:
            Sandbox.Session.new_for_driver(Nothing())
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.NOT_SUPPORTED))

        class Reader(memory_driver.GObject.Object, Sandbox.Driver):
            def do_read(self, path, offset, maximum, request):
                request.return_bytes(GLib.Bytes.new(path.encode()))
                return True

        session = Sandbox.Session.new_for_driver(Reader())
        self.assertEqual(session.read_text('name', None), 'name')
        for refused in (lambda: session.write_text('f', 'x', None), lambda: session.run(command('echo'), None),
                        lambda: session.remove_path('f', None)):
            with self.assertRaises(GLib.Error) as caught:
                refused()
            self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.NOT_SUPPORTED))


if __name__ == '__main__':
    tap.main()
