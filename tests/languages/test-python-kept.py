#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions that last, and a host that forks, as a host in Python sees them, over bubblewrap."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, Sandbox

import tap

LABELS = {'project': 'ö', 'empty': ''}


class Sync:
    """The synchronous form of a call"""
    def __call__(self, thing, name, *arguments):
        return getattr(thing, name)(*arguments, None)


class Async:
    """The other one, in the default main context"""
    def __call__(self, thing, name, *arguments):
        answers = []
        getattr(thing, f'{name}_async')(*arguments, None, lambda source, result: answers.append((source, result)))
        end = time.monotonic() + 60
        while not answers:
            if time.monotonic() > end:
                raise AssertionError(f'{name} was not answered')
            GLib.MainContext.default().iteration(True)
        source, result = answers[0]
        return getattr(source, f'{name}_finish')(result)


def is_error(error, code):
    return error.matches(Sandbox.error_quark(), code)


class Kept(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = os.path.join(self.folder.name, 'source')
        self.state = os.path.join(self.folder.name, 'state')
        os.mkdir(self.source)
        for number in range(20):
            with open(os.path.join(self.source, f'file-{number}'), 'w', encoding='utf-8') as file:
                file.write(str(number))

    def tearDown(self):
        gc.collect()
        self.folder.cleanup()

    def new_backend(self):
        return Sandbox.Registry.new().create_backend('bubblewrap', self.state)

    def check_life(self, call):
        backend = self.new_backend()
        progress = []
        backend.connect('prewarm-progress', lambda backend, *told: progress.append(told))

        files = Sandbox.FileSet.new()
        files.add('made/by hand', GLib.Bytes.new(b'bytes'))
        files.add_directory('tree', Gio.File.new_for_path(self.source))
        template = call(backend, 'prewarm', 'kit', files)
        self.assertEqual((len(template.get_key()), template.get_name(), template.get_reused()), (64, 'kit', False))
        self.assertEqual(progress[-1][0], 'kit')
        self.assertTrue(call(backend, 'prewarm', 'kit', files).get_reused())
        self.assertEqual([one.get_key() for one in call(backend, 'list_templates')], [template.get_key()])

        options = Sandbox.CreateOptions(template_key=template.get_key(), labels=GLib.Variant('a{ss}', LABELS))
        handle = call(backend, 'create', options)
        session = handle.get_session()
        self.assertEqual(call(session, 'read_text', 'tree/file-7'), '7')
        self.assertEqual(call(session, 'run', Sandbox.Command(argv=['cp', 'made/by hand', 'kept'])).get_exit_status(), 0)
        text = handle.capture_state().to_json()
        self.assertTrue(call(handle, 'stop'))
        self.assertEqual(handle.props.phase, Sandbox.Phase.STOPPED)

        # Another host, with nothing but the text
        del handle, session, backend
        gc.collect()
        backend = self.new_backend()
        state = Sandbox.State.new_from_json(text)
        self.assertEqual(state.get_template_key(), template.get_key())
        listed = list(call(backend, 'list_sessions'))
        self.assertEqual([one.get_session_id() for one in listed], [state.get_session_id()])
        self.assertEqual(listed[0].props.labels.unpack(), LABELS)
        handle = call(backend, 'create', Sandbox.CreateOptions(state=state))
        self.assertEqual(handle.get_session().get_id(), state.get_session_id())
        self.assertEqual(call(handle.get_session(), 'read_text', 'kept'), 'bytes')

        # Nobody else meanwhile
        with self.assertRaises(GLib.Error) as caught:
            call(self.new_backend(), 'create', Sandbox.CreateOptions(state=state))
        self.assertTrue(is_error(caught.exception, Sandbox.Error.BUSY), caught.exception)

        self.assertTrue(call(handle, 'delete'))
        self.assertTrue(call(handle, 'delete'))
        self.assertEqual(handle.props.phase, Sandbox.Phase.DELETED)
        with self.assertRaises(GLib.Error) as caught:
            call(backend, 'create', Sandbox.CreateOptions(state=state))
        self.assertTrue(is_error(caught.exception, Sandbox.Error.NOT_FOUND), caught.exception)
        self.assertEqual(len(list(call(backend, 'list_sessions'))), 0)

        # One that is deleted by its state
        handle = call(backend, 'create', options)
        state = handle.capture_state()
        self.assertTrue(call(handle, 'shutdown'))
        self.assertTrue(call(backend, 'delete_session', state))
        self.assertTrue(call(backend, 'delete_template', template.get_key()))
        self.assertEqual(len(list(call(backend, 'list_templates'))), 0)

    def test_sync(self):
        self.check_life(Sync())

    def test_async(self):
        self.check_life(Async())


def in_child(answer, session, process, handle, folder):
    """What a process of multiprocessing finds: nothing of its parent's, and sessions of its own"""
    refused = []
    for call in (lambda: session.run(Sandbox.Command(argv=['true']), None), lambda: session.read_text('f', None),
                 lambda: process.kill(), lambda: process.wait(None), lambda: handle.stop(None), lambda: handle.capture_state()):
        try:
            call()
            refused.append(None)
        except GLib.Error as error:
            refused.append(error.code if error.domain == 'sandbox-error-quark' else error.message)
    backend = Sandbox.Registry.get_default().create_backend('bubblewrap', None)
    mine = backend.create(Sandbox.CreateOptions(workspace_path=folder), None)
    output = mine.get_session().run(Sandbox.Command(argv=['echo', 'mine']), None).dup_stdout_text()
    mine.shutdown(None)
    answer.put((refused, output))


class Fork(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.state = tempfile.TemporaryDirectory()
        self.backend = Sandbox.Registry.get_default().create_backend('bubblewrap', self.state.name)
        self.handle = self.backend.create(Sandbox.CreateOptions(), None)
        self.session = self.handle.get_session()
        self.session.write_text('f', 'kept', None)
        self.process = self.session.spawn(Sandbox.Command(argv=['cat']), None)

    def tearDown(self):
        self.process.kill()
        self.assertTrue(self.handle.stop(None))
        del self.process, self.session, self.handle, self.backend
        gc.collect()
        self.state.cleanup()
        self.folder.cleanup()

    def check_parent(self):
        result = self.process.communicate(GLib.Bytes.new(b'fed'), None)
        self.assertEqual((result.get_exit_status(), result.get_stdout().get_data()), (0, b'fed'))
        self.assertEqual(self.session.read_text('f', None), 'kept')
        self.assertEqual(self.session.run(Sandbox.Command(argv=['cat', 'f']), None).dup_stdout_text(), 'kept')

    def test_multiprocessing(self):
        context = multiprocessing.get_context('fork')
        answer = context.SimpleQueue()
        child = context.Process(target=in_child, args=(answer, self.session, self.process, self.handle, self.folder.name))
        child.start()
        refused, output = answer.get()
        child.join(60)
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(refused, [int(Sandbox.Error.STOPPED)] * 6)
        self.assertEqual(output, 'mine\n')
        self.check_parent()

    def test_exit(self):
        """A child that ends as a program does, with everything that Python does then"""
        host = ('import os, sys, gi\n'
                'gi.require_version("Sandbox", "1.0")\n'
                'from gi.repository import Sandbox\n'
                'backend = Sandbox.Registry.get_default().create_backend("bubblewrap", None)\n'
                'handle = backend.create(Sandbox.CreateOptions(), None)\n'
                'session = handle.get_session()\n'
                'session.write_text("f", "kept", None)\n'
                'process = session.spawn(Sandbox.Command(argv=["sh", "-c", "sleep 1; exit 7"]), None)\n'
                'pid = os.fork()\n'
                'if pid == 0:\n'
                '    sys.exit(0)\n'
                'assert os.waitpid(pid, 0)[1] == 0\n'
                'assert process.communicate(None, None).get_exit_status() == 7\n'
                'assert session.read_text("f", None) == "kept"\n'
                'assert handle.stop(None)\n')
        done = subprocess.run([sys.executable, '-c', host], timeout=120, check=False, capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'', b''))

    def test_lives_on(self):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        os.close(reading)
        # The end of the input, which the child has never closed
        self.check_parent()
        state = self.handle.capture_state()
        self.assertTrue(self.handle.stop(None))
        other = Sandbox.Registry.new().create_backend('bubblewrap', self.state.name)
        again = other.create(Sandbox.CreateOptions(state=state), None)
        self.assertEqual(again.get_session().read_text('f', None), 'kept')
        self.assertTrue(again.delete(None))
        self.assertEqual(os.waitpid(pid, os.WNOHANG), (0, 0))
        os.close(writing)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


if __name__ == '__main__':
    tap.main()
