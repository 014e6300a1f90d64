#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a host in Python sees: test-python.py [BACKEND], over the driver in Python or a backend of the registry."""

import asyncio
import gc
import sys
import tempfile
import threading
import time
import unittest

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, Sandbox

import memory_driver
import tap

BACKEND = sys.argv[1] if len(sys.argv) > 1 else 'python-memory'
TOYS = BACKEND == 'python-memory'
NAP = ['sleep', '300'] if TOYS else ['sleep', '0.3']
LONG = ['sleep'] if TOYS else ['sleep', '1000']
THREE = ['exit', '3'] if TOYS else ['sh', '-c', 'exit 3']
ODD = ['cat', 'odd']

registry = Sandbox.Registry.new()
registry.add_type('python-memory', 10, memory_driver.Backend)


def spin(predicate):
    end = time.monotonic() + 30
    while not predicate():
        if time.monotonic() > end:
            raise AssertionError('waited in vain')
        GLib.MainContext.default().iteration(True)


class Values(unittest.TestCase):
    def test_keywords(self):
        command = Sandbox.Command(argv=['ls', '-l', ''], cwd='dir', environment=['A=1', 'B='], timeout_ms=5, max_output=1 << 40,
                                  stdin=GLib.Bytes.new(b'\0\xff'), terminal=True, label='name',
                                  output_limit_action=Sandbox.OutputLimitAction.TRUNCATE, limits=Sandbox.Limits(tasks=3))
        self.assertEqual(command.get_argv(), ['ls', '-l', ''])
        self.assertEqual(command.props.environment, ['A=1', 'B='])
        self.assertEqual(command.get_stdin().get_data(), b'\0\xff')
        self.assertEqual((command.get_cwd(), command.get_timeout_ms(), command.get_max_output()), ('dir', 5, 1 << 40))
        self.assertEqual(command.get_output_limit_action().value_nick, 'truncate')
        self.assertEqual(command.get_limits().get_tasks(), 3)
        self.assertEqual(Sandbox.Command.new(('ls', 'ö')).get_argv(), ['ls', 'ö'])

    def test_none(self):
        command = Sandbox.Command(argv=['ls'], stdin=None, limits=None, label=None)
        for name in 'stdin', 'limits', 'label':
            self.assertIsNone(getattr(command, f'get_{name}')())
            getattr(command, f'set_{name}')(None)
            setattr(command.props, name, None)
            self.assertIsNone(getattr(command.props, name))
        options = Sandbox.CreateOptions(network=None, profile=None, workspace_path=None, labels=None)
        for name in 'network', 'profile', 'workspace_path', 'labels':
            self.assertIsNone(getattr(options, f'get_{name}')())
            getattr(options, f'set_{name}')(None)
            self.assertIsNone(getattr(options.props, name))

    def test_variant(self):
        options = Sandbox.CreateOptions(labels=GLib.Variant('a{ss}', {'a': 'b', 'ö': ''}))
        self.assertEqual(options.get_labels().unpack(), {'a': 'b', 'ö': ''})

    def test_bad_types(self):
        with self.assertRaises(TypeError):
            Sandbox.Command(argv='ls -l')
        with self.assertRaises(TypeError):
            Sandbox.Command(argv=['ls'], stdin=b'bytes')

    def test_enumerations(self):
        self.assertEqual(Sandbox.Outcome.TIMED_OUT.value_nick, 'timed-out')
        # PyGObject finds the flag of no bits in every value.
        self.assertEqual(set(Sandbox.Restrictions(3).value_nicks) - {'none'}, {'network-denied', 'write-contained'})

    def test_profile(self):
        profile = Sandbox.Profile(identity=Sandbox.Identity.OWNER, filter=Sandbox.Filter.STRICT, view=Sandbox.View.SYSTEM)
        profile.add_mount(Sandbox.Mount.new('/srv/ö', '/data', Sandbox.MountMode.READ_ONLY))
        again = Sandbox.Profile.new_from_json(profile.to_json())
        self.assertEqual((again.get_identity().value_nick, again.props.filter.value_nick, again.props.launcher_uid), ('owner', 'strict', -1))
        self.assertIn('“/srv/ö/x” of the host', again.explain('/data/x'))
        for name in 'agent', 'build', 'inspect', 'converter':
            preset = Sandbox.Profile.new_preset(name)
            self.assertGreater(preset.get_limits().get_processes(), 0)
        self.assertTrue(Sandbox.Profile.new_preset('inspect').get_workspace_read_only())
        with self.assertRaises(TypeError):
            Sandbox.Profile.new_preset('unknown')

    def test_network_policy(self):
        policy = Sandbox.NetworkPolicy.new_allow_list()
        self.assertTrue(policy.add_origin('https://example.org', None))
        self.assertTrue(policy.add_origin('https://example.com', GLib.Variant('a{ss}', {'X-Key': 'v'})))
        for _ in range(2):
            self.assertEqual(sorted(policy.dup_origins()), ['https://example.com', 'https://example.org'])
            gc.collect()
        with self.assertRaises(GLib.Error) as caught:
            policy.add_origin('no origin', None)
        self.assertEqual(caught.exception.domain, 'sandbox-error-quark')

    def test_notify(self):
        command = Sandbox.Command(argv=['ls'])
        seen = []
        command.connect('notify::timeout-ms', lambda command, pspec: seen.append(command.props.timeout_ms))
        command.props.timeout_ms = 7
        command.set_timeout_ms(7)
        self.assertEqual(seen, [7])


class Registry(unittest.TestCase):
    def test_list(self):
        for _ in range(2):
            names = [info.get_name() for info in registry]
            gc.collect()
            self.assertIn('python-memory', names)
            self.assertEqual(len(registry), len(names))
        self.assertEqual(registry.lookup('python-memory').get_priority(), 10)
        self.assertIsNone(registry.lookup('nothing of this name'))

    def test_refused(self):
        with self.assertRaises(GLib.Error) as caught:
            registry.create_backend('nothing of this name', None)
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.NOT_FOUND), caught.exception)
        with self.assertRaises(GLib.Error):
            registry.add_type('python-memory', 1, memory_driver.Backend)

    def test_default(self):
        self.assertIs(Sandbox.Registry.get_default(), Sandbox.Registry.get_default())


class Session(unittest.TestCase):
    def setUp(self):
        self.folder = None if TOYS else tempfile.TemporaryDirectory()
        self.backend = registry.create_backend(BACKEND, None)
        options = Sandbox.CreateOptions(workspace_path=self.folder.name if self.folder else None)
        self.handle = self.backend.create(options, None)
        self.session = self.handle.get_session()

    def tearDown(self):
        self.assertTrue(self.handle.shutdown(None))
        if self.folder:
            self.folder.cleanup()

    def test_properties(self):
        self.assertEqual(self.backend.get_name(), BACKEND)
        self.assertIsNone(self.backend.get_state_directory())
        self.assertIs(self.handle.props.session, self.session)
        self.assertEqual(len(self.session.get_id()), 64)
        self.assertEqual(self.session.resolve_path('a', ), '/workspace/a')
        self.assertEqual(self.handle.props.phase.value_nick, 'live')

    def test_probe_without_profile(self):
        report = self.backend.probe(None, None)
        for _ in range(2):
            steps = [step.get_name() for step in report.get_steps()]
            gc.collect()
        self.assertIsInstance(steps, list)
        self.assertTrue(report.to_json().startswith('{'))

    def test_bytes(self):
        for data in b'', b'a\0b\xff', bytes(range(256)) * 300:
            self.assertTrue(self.session.write_bytes('odd', GLib.Bytes.new(data), None))
            read = self.session.read_bytes('odd', None)
            again = self.session.read_bytes('odd', None)
            gc.collect()
            self.assertEqual(read.get_data() or b'', data)
            self.assertEqual(again.get_data() or b'', data)
            output = self.session.run(Sandbox.Command(argv=ODD), None).get_stdout()
            gc.collect()
            self.assertEqual(output.get_data() or b'', data)

    def test_text(self):
        self.assertTrue(self.session.write_bytes('odd', GLib.Bytes.new(b'a\xffb'), None))
        self.assertEqual(self.session.run(Sandbox.Command(argv=ODD), None).dup_stdout_text(), 'a\ufffdb')

    def test_errors(self):
        with self.assertRaises(GLib.Error) as caught:
            self.session.read_text('missing', None)
        error = caught.exception
        self.assertEqual((error.domain, error.code), ('sandbox-error-quark', int(Sandbox.Error.NOT_FOUND)))
        self.assertTrue(error.matches(Sandbox.error_quark(), Sandbox.Error.NOT_FOUND))
        self.assertFalse(error.matches(Sandbox.error_quark(), Sandbox.Error.PATH))
        result = self.session.run(Sandbox.Command(argv=THREE), None)
        self.assertEqual(result.get_exit_status(), 3)
        with self.assertRaises(GLib.Error) as caught:
            result.check()
        self.assertTrue(caught.exception.matches(Sandbox.error_quark(), Sandbox.Error.FAILED))

    def test_callback(self):
        answers = []
        self.session.run_async(Sandbox.Command(argv=['echo', 'hi']), None,
                               lambda session, result, data: answers.append((session.run_finish(result), data)), 'mine')
        spin(lambda: answers)
        self.assertEqual(answers[0][0].dup_stdout_text(), 'hi\n')
        self.assertEqual(answers[0][1], 'mine')

    def test_no_callback(self):
        self.session.write_text_async('odd', 'without', None, None)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if self.session.read_text('odd', None) == 'without':
                    break
            except GLib.Error:
                pass
        self.assertEqual(self.session.read_text('odd', None), 'without')

    def test_cancellation(self):
        cancellable = Gio.Cancellable()
        threading.Timer(0.1, cancellable.cancel).start()
        before = time.monotonic()
        with self.assertRaises(GLib.Error) as caught:
            self.session.run(Sandbox.Command(argv=LONG), cancellable)
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))
        self.assertLess(time.monotonic() - before, 10)

    def test_processes(self):
        process = self.session.spawn(Sandbox.Command(argv=['cat']), None)
        for _ in range(2):
            self.assertEqual([other.get_id() for other in self.session.list_processes()], [process.get_id()])
            gc.collect()
        self.assertIsNone(process.get_result())
        result = process.communicate(GLib.Bytes.new(b'fed'), None)
        self.assertEqual(result.get_stdout().get_data(), b'fed')
        self.assertEqual(process.get_result().get_exit_status(), 0)

    def test_line_by_line(self):
        process = self.session.spawn(Sandbox.Command(argv=['cat']), None)
        lines = Gio.DataInputStream.new(process.get_stdout())
        for word in 'one', 'two':
            process.get_stdin().write_all(word.encode() + b'\n', None)
            self.assertEqual(lines.read_line_utf8(None)[0], word)
        process.get_stdin().close(None)
        self.assertTrue(process.wait(None))

    def test_threads_of_asyncio(self):
        async def main():
            loop = asyncio.get_running_loop()
            runs = [loop.run_in_executor(None, self.session.run, Sandbox.Command(argv=NAP), None) for _ in range(5)]
            together = 0
            while not all(run.done() for run in runs):
                together = max(together, len(self.session.list_processes()))
                await asyncio.sleep(0.002)
            return together, await asyncio.gather(*runs)

        together, results = asyncio.run(main())
        self.assertEqual([result.get_exit_status() for result in results], [0] * 5)
        self.assertGreater(together, 1)

    def test_dropped_objects(self):
        session = self.session
        process = session.spawn(Sandbox.Command(argv=NAP), None)
        del self.backend
        gc.collect()
        self.assertTrue(process.wait(None))
        self.assertEqual(session.run(Sandbox.Command(argv=['echo', 'x']), None).dup_stdout_text(), 'x\n')


if __name__ == '__main__':
    tap.main()
