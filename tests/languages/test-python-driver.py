#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The checks of tests/conformance over a driver in Python, in both forms of every call, and what is particular to one."""

import gc
import os
import signal
import tempfile
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


class FileChecks:
    """Over a backend that the registry made; `call` is the one form or the other."""

    def set_up(self, **options):
        self.backend = registry.create_backend('python-memory', None)
        self.handle = self.call(self.backend, 'create', Sandbox.CreateOptions(max_file_bytes=100000, **options), None)
        self.session = self.handle.get_session()

    def tearDown(self):
        self.assertTrue(self.call(self.handle, 'stop', None))

    def refused(self, code, *args):
        with self.assertRaises(GLib.Error) as caught:
            self.call(*args)
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), code), caught.exception)
        self.assertNotEqual(caught.exception.message, '')

    def cancelled(self, *args):
        with self.assertRaises(GLib.Error) as caught:
            self.call(*args)
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED), caught.exception)

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

    def test_directories(self):
        session = self.session
        kinds = {'b': Gio.FileType.DIRECTORY, 'f': Gio.FileType.REGULAR}
        self.assertTrue(self.call(session, 'make_directory', 'a/b', None))
        self.assertTrue(self.call(session, 'write_text', 'a/f', 'four', None))
        listing = self.call(session, 'list_directory', 'a', None)
        self.assertFalse(listing.get_truncated())
        self.assertEqual({info.get_name(): info.get_file_type() for info in listing}, kinds)
        self.assertEqual(len(self.call(session, 'list_directory', 'a/b', None)), 0)
        self.assertEqual([info.get_name() for info in self.call(session, 'list_directory', '.', None)], ['a'])
        info = self.call(session, 'query_info', '/workspace/a/f', None)
        self.assertEqual((info.get_name(), info.get_file_type(), info.get_size()), ('f', Gio.FileType.REGULAR, 4))
        self.assertEqual(self.call(session, 'query_info', 'a', None).get_file_type(), Gio.FileType.DIRECTORY)
        self.assertEqual(self.call(session, 'query_info', '.', None).get_file_type(), Gio.FileType.DIRECTORY)

        self.assertTrue(self.call(session, 'move', 'a/f', 'a/b/g', None))
        self.assertEqual(self.call(session, 'read_text', 'a/b/g', None), 'four')
        self.refused(Sandbox.Error.INVALID, session, 'move', 'a', 'a/b/c', None)
        self.assertTrue(self.call(session, 'move', 'a', 'c', None))
        self.assertEqual(self.call(session, 'read_text', 'c/b/g', None), 'four')
        self.refused(Sandbox.Error.NOT_FOUND, session, 'list_directory', 'a', None)
        self.assertTrue(self.call(session, 'move', 'c', 'a', None))

        for code, name, *paths in (
                (Sandbox.Error.NOT_FOUND, 'list_directory', 'missing'),
                (Sandbox.Error.PATH, 'list_directory', 'a/b/g'),
                (Sandbox.Error.PATH, 'list_directory', '..'),
                (Sandbox.Error.NOT_FOUND, 'query_info', 'a/f'),
                (Sandbox.Error.PATH, 'query_info', 'a/b/g/x'),
                (Sandbox.Error.EXISTS, 'make_directory', 'a/b'),
                (Sandbox.Error.PATH, 'make_directory', 'a/b/g/x'),
                (Sandbox.Error.NOT_FOUND, 'move', 'missing', 'x'),
                (Sandbox.Error.NOT_FOUND, 'move', 'a/b/g', 'missing/x'),
                (Sandbox.Error.EXISTS, 'move', 'a/b/g', 'a/b'),
                (Sandbox.Error.PATH, 'move', '.', 'x'),
                (Sandbox.Error.PATH, 'move', 'a', '../x'),
        ):
            self.refused(code, session, name, *paths, None)
        self.assertTrue(self.call(session, 'remove_path', 'a', None))
        self.assertEqual(len(self.call(session, 'list_directory', '.', None)), 0)

    def test_streams(self):
        session = self.session
        large = os.urandom(3 << 20)
        self.assertTrue(self.call(session, 'write_text', 'f', 'old', None))
        source = self.call(session, 'open_read', 'f', None)
        self.assertEqual(self.call(source, 'read_bytes', 100, *self.priority, None).get_data(), b'old')
        self.assertTrue(self.call(source, 'close', *self.priority, None))
        self.refused(Sandbox.Error.NOT_FOUND, session, 'open_read', 'missing', None)
        self.refused(Sandbox.Error.INVALID, session, 'open_read', '.', None)
        self.refused(Sandbox.Error.INVALID, session, 'open_write', '.', None)
        self.refused(Sandbox.Error.PATH, session, 'open_write', '../f', None)
        self.refused(Sandbox.Error.PATH, session, 'open_write', 'f/below', None)

        target = self.call(session, 'open_write', 'f', None)
        target.write_all(large, None)
        self.assertEqual(self.call(session, 'read_text', 'f', None), 'old')
        self.assertTrue(self.call(target, 'close', *self.priority, None))
        self.refused(Sandbox.Error.LIMIT, session, 'read_bytes', 'f', None)
        source = self.call(session, 'open_read', 'f', None)
        self.assertEqual(b''.join(iter(lambda: source.read_bytes(65536, None).get_data() or b'', b'')), large)

        target = self.call(session, 'open_write', 'deep/er', None)
        self.assertTrue(self.call(target, 'close', *self.priority, None))
        self.assertEqual(self.call(session, 'read_text', 'deep/er', None), '')

    def test_stream_without_an_end(self):
        self.assertTrue(self.call(self.session, 'write_text', 'f', 'old', None))
        target = self.call(self.session, 'open_write', 'f', None)
        target.write_all(b'new', None)
        del target
        gc.collect()
        self.assertEqual(self.call(self.session, 'read_text', 'f', None), 'old')
        target = self.call(self.session, 'open_write', 'f', None)
        target.write_all(b'new', None)
        cancellable = Gio.Cancellable()
        cancellable.cancel()
        self.cancelled(target, 'close', *self.priority, cancellable)
        self.assertEqual(self.call(self.session, 'read_text', 'f', None), 'old')

    def test_trees(self):
        session = self.session
        told = []
        session.connect('transfer-progress', lambda session, *numbers: told.append(numbers))
        with tempfile.TemporaryDirectory() as top:
            content = {b'inner/file': b'in a tree', b'Gr\xc3\xb6\xc3\x9fe': b'', b'odd\xff\\': bytes(70000)}
            source, target = os.path.join(top, 'from'), os.path.join(top, 'to')
            os.makedirs(os.path.join(source, 'inner', 'empty'))
            for name, data in content.items():
                with open(os.path.join(os.fsencode(source), name), 'wb') as file:
                    file.write(data)
            os.symlink('/etc/passwd', os.path.join(source, 'link'))

            self.assertTrue(self.call(session, 'import_directory', Gio.File.new_for_path(source), 'some/dir', None))
            self.assertEqual(told[-1], ('some/dir', 70009, 3, 1))
            self.assertEqual(self.call(session, 'read_text', 'some/dir/inner/file', None), 'in a tree')
            self.assertEqual(self.call(session, 'read_bytes', 'some/dir/odd\\xff\\x5c', None).get_data(), bytes(70000))
            self.refused(Sandbox.Error.NOT_FOUND, session, 'query_info', 'some/dir/link', None)

            export = Gio.File.new_for_path(target)
            self.assertTrue(self.call(session, 'export_directory', 'some/dir', export, None))
            self.assertEqual(told[-1], ('some/dir', 70009, 3, 0))
            self.assertEqual(sorted(os.listdir(os.fsencode(target))), sorted([b'inner', *list(content)[1:]]))
            self.assertEqual(os.listdir(os.path.join(target, 'inner', 'empty')), [])
            for name, data in content.items():
                with open(os.path.join(os.fsencode(target), name), 'rb') as file:
                    self.assertEqual(file.read(), data)

            here, nowhere = Gio.File.new_for_path(source), Gio.File.new_for_path(os.path.join(top, 'nowhere'))
            remote = Gio.File.new_for_uri('nothing://of/this')
            for code, name, *args in (
                    (Sandbox.Error.EXISTS, 'export_directory', 'some/dir', export),
                    (Sandbox.Error.NOT_FOUND, 'export_directory', 'missing', nowhere),
                    (Sandbox.Error.PATH, 'export_directory', '../x', nowhere),
                    (Sandbox.Error.NOT_SUPPORTED, 'export_directory', '.', remote),
                    (Sandbox.Error.NOT_FOUND, 'import_directory', nowhere, 'dir'),
                    (Sandbox.Error.PATH, 'import_directory', here, '../dir'),
                    (Sandbox.Error.PATH, 'import_directory', here, 'some/dir/inner/file'),
                    (Sandbox.Error.NOT_SUPPORTED, 'import_directory', remote, 'dir'),
            ):
                self.refused(code, session, name, *args, None)
            self.assertFalse(os.path.exists(nowhere.get_path()))

    def test_files_cancelled(self):
        cancellable = Gio.Cancellable()
        cancellable.cancel()
        here = Gio.File.new_for_path('.')
        for name, *args in (
                ('read_bytes', 'f'), ('write_text', 'f', 'x'), ('remove_path', 'f'), ('list_directory', '.'), ('query_info', '.'),
                ('make_directory', 'f'), ('move', 'f', 'g'), ('open_read', 'f'), ('open_write', 'f'),
                ('import_directory', here, 'f'), ('export_directory', '.', here),
        ):
            self.cancelled(self.session, name, *args, cancellable)
        self.refused(Sandbox.Error.NOT_FOUND, self.session, 'query_info', 'f', None)


class Checks(FileChecks):
    """All of them over the driver of toys, which answers in the manner that is set."""

    def setUp(self):
        memory_driver.Backend.answer = self.answer
        self.set_up()
        self.driver = memory_driver.Backend.drivers[-1]

    def tearDown(self):
        self.driver.answer = 'now'
        self.driver.answer_held()
        super().tearDown()
        self.assertEqual(self.driver.live, set())
        allowed = {threading.get_ident()}
        self.assertEqual([name for name, thread in self.driver.calls if thread not in allowed], [])

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


class LocalChecks(FileChecks):
    """Those about files over a driver that hands its requests on to a workspace."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.workspace = directory.name
        self.set_up(workspace_path=self.workspace)

    def test_it_is_the_workspace(self):
        self.assertTrue(self.call(self.session, 'write_text', 'f', 'there', None))
        with open(os.path.join(self.workspace, 'f'), encoding='utf-8') as file:
            self.assertEqual(file.read(), 'there')


class Sync:
    # What the synchronous form of a call of GIO does not have
    priority = ()

    def call(self, target, name, *args):
        return getattr(target, name)(*args)


class Async:
    priority = (GLib.PRIORITY_DEFAULT,)

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


class SyncLocal(Sync, LocalChecks, unittest.TestCase):
    pass


class AsyncLocal(Async, LocalChecks, unittest.TestCase):
    pass


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
        self.fails(Sandbox.Error.DENIED, self.session.query_info, '.', None)

    def test_false_is_a_failure(self):
        self.driver.answer = 'false'
        self.fails(Sandbox.Error.FAILED, self.session.read_bytes, 'f', None)
        self.fails(Sandbox.Error.FAILED, self.session.write_text, 'f', 'x', None)
        self.fails(Sandbox.Error.FAILED, self.session.list_directory, '.', None)

    def test_dropped_is_a_failure(self):
        self.driver.answer = 'dropped'
        before = time.monotonic()
        self.fails(Sandbox.Error.FAILED, self.session.read_bytes, 'f', None)
        self.fails(Sandbox.Error.FAILED, self.session.open_write, 'f', None)
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


class Nothing(memory_driver.GObject.Object, Sandbox.Driver):
    pass


class Reader(memory_driver.GObject.Object, Sandbox.Driver):
    def do_read(self, path, offset, maximum, request):
        request.return_bytes(GLib.Bytes.new(path.encode()))
        return True


class EmptyChecks:
    """What a driver does not implement is refused by name, and nobody waits for it."""

    def test_nothing_implemented(self):
        with self.assertRaises(GLib.Error) as caught:
            Sandbox.Session.new_for_driver(Nothing())
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.NOT_SUPPORTED))

    def test_little_implemented(self):
        session = Sandbox.Session.new_for_driver(Reader())
        self.assertEqual(self.call(session, 'read_text', 'name', None), 'name')
        here = Gio.File.new_for_path('.')
        for what, name, *args in (
                ('write files', 'write_text', 'f', 'x'),
                ('remove files', 'remove_path', 'f'),
                ('start commands', 'run', command('echo')),
                ('start commands', 'spawn', command('echo')),
                ('enforce a network policy', 'set_network_policy', Sandbox.NetworkPolicy.new_deny_all()),
                ('list directories', 'list_directory', '.'),
                ('describe files', 'query_info', 'f'),
                ('make directories', 'make_directory', 'd'),
                ('move files', 'move', 'f', 'g'),
                ('open files for reading', 'open_read', 'f'),
                ('open files for writing', 'open_write', 'f'),
                ('import directories', 'import_directory', here, 'd'),
                ('export directories', 'export_directory', '.', here),
        ):
            with self.assertRaises(GLib.Error) as caught:
                self.call(session, name, *args, None)
            self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.NOT_SUPPORTED), caught.exception)
            self.assertIn(f'Reader cannot {what}', caught.exception.message)


class SyncEmpty(Sync, EmptyChecks, unittest.TestCase):
    pass


class AsyncEmpty(Async, EmptyChecks, unittest.TestCase):
    pass


if __name__ == '__main__':
    tap.main()
