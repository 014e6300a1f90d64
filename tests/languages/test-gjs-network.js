#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// What a host in JavaScript hears of the network of its commands, over bubblewrap and the gateway.

import Gio from 'gi://Gio';
import Sandbox from 'gi://Sandbox?version=1.0';

import {equal, ok, run, test} from './tap.js';

Gio._promisify(Sandbox.Backend.prototype, 'create_async');
Gio._promisify(Sandbox.Handle.prototype, 'stop_async');
for (const name of ['run', 'set_network_policy'])
    Gio._promisify(Sandbox.Session.prototype, `${name}_async`);

// Asks by http_proxy, and tells the status.
const ASK = `
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).status)
except urllib.error.HTTPError as error:
    print(error.code)
`;

// Either form of a call
const forms = {
    sync: (object, name, ...args) => Promise.resolve().then(() => object[name](...args, null)),
    async: (object, name, ...args) => object[`${name}_async`](...args, null),
};

for (const [form, call] of Object.entries(forms)) {
    test(`network/${form}`, async () => {
        const policy = Sandbox.NetworkPolicy.new_allow_list();
        // Nobody listens there.
        policy.add_origin('http://127.0.0.2:1', null);
        policy.loopback_door = true;

        const told = [];
        const backend = Sandbox.Registry.get_default().create_backend('bubblewrap', null);
        backend.connect('gateway-error', (_, error) => told.push(['error', error.message.length > 0]));
        const handle = await call(backend, 'create', new Sandbox.CreateOptions());
        const {session} = handle;
        session.connect('network-denied', (_, origin, reason) => told.push(['denied', origin, reason.length > 0]));
        session.connect('notify::gateway-path', () => told.push(['path', session.gateway_path]));
        equal(session.gateway_path, null);
        ok(await call(session, 'set_network_policy', policy), 'the policy');
        equal(told, [['path', Sandbox.GATEWAY_PATH]]);

        for (const [url, status, news] of [
            ['http://elsewhere.example/', 403, ['denied', 'elsewhere.example', true]],
            ['http://127.0.0.2:1/', 502, ['error', true]],
        ]) {
            told.length = 0;
            const result = await call(session, 'run', new Sandbox.Command({argv: ['python3', '-c', ASK, url]}));
            equal([result.dup_stdout_text().trim(), result.dup_stderr_text()], [`${status}`, '']);
            equal(told, [news]);
        }
        ok(await call(handle, 'stop'), 'the stop');
    });
}

await run();
