#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a host in Python hears of the network of its commands, over bubblewrap and the gateway."""

import http.client
import http.server
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, GObject, Sandbox

import tap

# Asks for one thing by http_proxy, and tells the status.
ASK = '''
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
'''


def make_certificate(directory):
    """An authority, and what a server at 127.0.0.1 needs that it has signed"""
    for line in ('req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem',
                 'req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1 -keyout own.key -out own.csr',
                 'x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile own.ext -out own.pem'):
        pathlib.Path(directory, 'own.ext').write_text('subjectAltName=IP:127.0.0.1\n')
        subprocess.run(['openssl', *line.split()], cwd=directory, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f'{directory}/own.pem', f'{directory}/own.key')
    return f'{directory}/ca.pem', context


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        body = self.headers.get('Authorization', 'nothing').encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class DoorDriver(GObject.Object, Sandbox.Driver):
    """A driver that has nothing but doors, at a Unix socket of the test."""

    def __init__(self):
        super().__init__()
        self.gateway = self.door = None
        self.directory = tempfile.TemporaryDirectory()
        self.path = self.directory.name + '/door'

    def do_set_network_policy(self, policy, request):
        request.return_done()
        return True

    def do_set_gateway(self, gateway, request):
        self.gateway = gateway
        self.door = Gio.Socket.new(Gio.SocketFamily.UNIX, Gio.SocketType.STREAM, Gio.SocketProtocol.DEFAULT)
        self.door.bind(Gio.UnixSocketAddress.new(self.path), False)
        self.door.listen()
        gateway.add_door(self.door)
        request.return_done()
        return True

    def do_close(self, request):
        request.return_done()
        return True


class DoorBackend(Sandbox.Backend):
    drivers = []

    def do_create_driver(self, options, workspace, request):
        self.drivers.append(DoorDriver())
        request.return_object(self.drivers[-1])
        return True


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('gateway')
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


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

    def test_driver(self):
        """A driver in Python gives the gateway a door, and takes it away."""
        registry = Sandbox.Registry.new()
        registry.add_type('doors', 10, DoorBackend)
        backend = registry.create_backend('doors', None)
        handle = backend.create(Sandbox.CreateOptions(network=self.new_policy()), None)
        driver = DoorBackend.drivers[-1]
        connection = UnixConnection(driver.path)
        connection.request('GET', '/', headers={'Host': self.origin.removeprefix('http://')})
        self.assertEqual(connection.getresponse().read(), b'the secret')

        driver.gateway.remove_door(driver.door)
        with self.assertRaises((http.client.HTTPException, OSError)):
            connection.request('GET', '/', headers={'Host': self.origin.removeprefix('http://')})
            connection.getresponse()
        # One that may have come in before
        with self.assertRaises(OSError):
            while True:
                UnixConnection(driver.path).connect()
        self.assertTrue(handle.stop(None))

    def test_resumed(self):
        """TLS is resumed within a process, and not asked again whether the certificate is accepted: the gateway asks. Not in a program
        of GTest, where GLib's TLS resumes nothing."""
        for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
            with self.subTest(version=version), tempfile.TemporaryDirectory() as directory:
                authority, context = make_certificate(directory)
                context.maximum_version = version
                with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Upstream) as server:
                    server.socket = context.wrap_socket(server.socket, server_side=True)
                    threading.Thread(target=server.serve_forever, daemon=True).start()
                    self.check_resumed(server, Gio.TlsFileDatabase.new(authority))
                    server.shutdown()

    def check_resumed(self, server, database):
        policies = []
        for trusted in database, None:
            policy = Sandbox.NetworkPolicy.new_allow_list()
            policy.add_origin(f'https://127.0.0.1:{server.server_port}', GLib.Variant('a{ss}', {'Authorization': 'the secret'}))
            policy.set_loopback_door(True)
            policy.set_tls_database(trusted)
            policies.append(policy)
        url = f'http://127.0.0.1:{server.server_port}/'
        handle, session = self.open_session(policies[0])
        self.assertEqual(self.ask(session, url), 'the secret')
        n_asked = len(Upstream.asked)

        self.told.clear()
        self.assertTrue(session.set_network_policy(policies[1], None))
        self.assertEqual(self.ask(session, url), '502')
        other, other_session = self.open_session(policies[1])
        self.assertEqual(self.ask(other_session, url), '502')
        self.assertEqual([one[0] for one in self.told if one[0] != 'path'], 2 * ['error', 'request'])
        self.assertEqual(len(Upstream.asked), n_asked)

        self.assertTrue(other_session.set_network_policy(policies[0], None))
        self.assertEqual(self.ask(other_session, url), 'the secret')
        self.assertTrue(other.stop(None))
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
