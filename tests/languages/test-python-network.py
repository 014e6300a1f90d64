#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a host in Python hears of the network of its commands, over bubblewrap and the gateway."""

import http.server
import threading
import time
import unittest

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import GLib, Sandbox

import tap

# Asks for one thing by http_proxy, and tells the status.
ASK = '''
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
'''


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        body = self.headers.get('Authorization', 'nothing').encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Network(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Upstream)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f'http://127.0.0.1:{self.server.server_port}'
        self.told = []
        self.threads = set()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def note(self, *what):
        self.threads.add(threading.get_ident())
        self.told.append(what)

    def new_policy(self):
        policy = Sandbox.NetworkPolicy.new_allow_list()
        policy.add_origin(self.origin, GLib.Variant('a{ss}', {'Authorization': 'the secret'}))
        # Nobody listens there.
        policy.add_origin('http://127.0.0.2:1', None)
        policy.set_loopback_door(True)
        return policy

    def open_session(self, policy):
        backend = Sandbox.Registry.get_default().create_backend('bubblewrap', None)
        backend.connect('gateway-error', lambda _, error: self.note('error', error.message != ''))
        handle = backend.create(Sandbox.CreateOptions(network=policy), None)
        session = handle.get_session()
        session.connect('network-denied', lambda _, origin, reason: self.note('denied', origin, reason != ''))
        session.connect('network-request', lambda _, method, origin, status, sent, got, time_us:
                        self.note('request', method, origin, status, sent, got, time_us > 0))
        session.connect('notify::gateway-path', lambda session, _: self.note('path', session.props.gateway_path))
        return handle, session

    def ask(self, session, url):
        result = session.run(Sandbox.Command.new(['python3', '-c', ASK, url]), None)
        self.assertEqual(result.dup_stderr_text(), '')
        return result.dup_stdout_text().strip()

    def check_asks(self, session):
        """Without a main loop: all is told before the command has ended"""
        self.told.clear()
        self.assertEqual(self.ask(session, f'{self.origin}/path?query'), 'the secret')
        self.assertEqual(self.told, [('request', 'GET', self.origin, 200, 0, 10, True)])
        self.told.clear()
        self.assertEqual(self.ask(session, 'http://elsewhere.example/'), '403')
        self.assertEqual(self.told, [('denied', 'elsewhere.example', True)])
        self.told.clear()
        self.assertEqual(self.ask(session, 'http://127.0.0.2:1/'), '502')
        self.assertIn(('error', True), self.told)
        self.assertEqual(self.threads, {threading.get_ident()})

    def test_without_loop(self):
        handle, session = self.open_session(self.new_policy())
        self.assertEqual(session.props.gateway_path, Sandbox.GATEWAY_PATH)
        self.check_asks(session)
        self.assertTrue(handle.stop(None))

    def test_change(self):
        handle, session = self.open_session(None)
        self.assertIsNone(session.props.gateway_path)
        self.assertTrue(session.set_network_policy(self.new_policy(), None))
        self.assertEqual(self.told, [('path', Sandbox.GATEWAY_PATH)])
        self.check_asks(session)
        self.told.clear()
        self.assertTrue(session.set_network_policy(Sandbox.NetworkPolicy.new_allow_list(), None))
        self.assertEqual(self.told, [('path', None)])
        self.assertTrue(handle.stop(None))

    def test_with_loop(self):
        handle, session = self.open_session(self.new_policy())
        answers = []
        session.run_async(Sandbox.Command.new(['python3', '-c', ASK, self.origin]), None, lambda _, result: answers.append(result))
        end = time.monotonic() + 60
        while not answers:
            self.assertLess(time.monotonic(), end)
            GLib.MainContext.default().iteration(True)
        self.assertEqual(session.run_finish(answers[0]).dup_stdout_text().strip(), 'the secret')
        self.assertEqual([one[0] for one in self.told], ['request'])
        self.assertEqual(self.threads, {threading.get_ident()})
        self.assertTrue(handle.stop(None))

    def test_handler_raises(self):
        handle, session = self.open_session(self.new_policy())

        def raise_it(*arguments):
            self.note('raised')
            raise ValueError('not the fault of the gateway')

        session.connect('network-request', raise_it)
        session.connect('network-denied', raise_it)
        for _ in range(3):
            self.assertEqual(self.ask(session, self.origin), 'the secret')
            self.assertEqual(self.ask(session, 'http://elsewhere.example/'), '403')
        self.assertEqual([one[0] for one in self.told], 3 * ['request', 'raised', 'denied', 'raised'])
        self.assertTrue(handle.stop(None))


if __name__ == '__main__':
    tap.main()
