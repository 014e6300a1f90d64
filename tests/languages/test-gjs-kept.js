#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions that last, as a host in JavaScript sees them, over bubblewrap.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Sandbox from 'gi://Sandbox?version=1.0';
import System from 'system';

import {equal, ok, refused, run, test} from './tap.js';

for (const name of ['prewarm', 'create', 'list_templates', 'list_sessions', 'delete_template', 'delete_session'])
    Gio._promisify(Sandbox.Backend.prototype, `${name}_async`);
for (const name of ['stop', 'shutdown', 'delete'])
    Gio._promisify(Sandbox.Handle.prototype, `${name}_async`);
for (const name of ['run', 'read_text'])
    Gio._promisify(Sandbox.Session.prototype, `${name}_async`);

const items = list => Array.from({length: list.get_n_items()}, (_, index) => list.get_item(index));

// Either form of a call
const forms = {
    sync: (object, name, ...args) => Promise.resolve().then(() => object[name](...args, null)),
    async: (object, name, ...args) => object[`${name}_async`](...args, null),
};

for (const [form, call] of Object.entries(forms)) {
    test(`kept/${form}`, async () => {
        const folder = GLib.dir_make_tmp('gjs-XXXXXX');
        const source = GLib.build_filenamev([folder, 'source']);
        const place = GLib.build_filenamev([folder, 'state']);
        const labels = {empty: '', project: 'ö'};
        GLib.mkdir_with_parents(source, 0o700);
        for (let i = 0; i < 20; i++)
            GLib.file_set_contents(GLib.build_filenamev([source, `file-${i}`]), `${i}`);

        let backend = Sandbox.Registry.new().create_backend('bubblewrap', place);
        const told = [];
        backend.connect('prewarm-progress', (_, ...numbers) => told.push(numbers));
        const files = Sandbox.FileSet.new();
        files.add('made/by hand', new Uint8Array([98, 121, 116, 101, 115]));
        files.add_directory('tree', Gio.File.new_for_path(source));
        const template = await call(backend, 'prewarm', 'kit', files);
        equal([template.key.length, template.name, template.reused], [64, 'kit', false]);
        equal(told.at(-1)[0], 'kit');
        ok((await call(backend, 'prewarm', 'kit', files)).reused, 'the second time');
        equal(items(await call(backend, 'list_templates')).map(one => one.key), [template.key]);

        const options = new Sandbox.CreateOptions({template_key: template.key, labels: new GLib.Variant('a{ss}', labels)});
        let handle = await call(backend, 'create', options);
        equal(await call(handle.session, 'read_text', 'tree/file-7'), '7');
        equal((await call(handle.session, 'run', new Sandbox.Command({argv: ['cp', 'made/by hand', 'kept']}))).exit_status, 0);
        const text = handle.capture_state().to_json();
        ok(await call(handle, 'stop'), 'the stop');
        equal(handle.phase, Sandbox.Phase.STOPPED);

        // Another host, with nothing but the text
        handle = null;
        System.gc();
        backend = Sandbox.Registry.new().create_backend('bubblewrap', place);
        const state = Sandbox.State.new_from_json(text);
        equal(state.template_key, template.key);
        const listed = items(await call(backend, 'list_sessions'));
        equal(listed.map(one => one.session_id), [state.session_id]);
        equal(listed[0].labels.recursiveUnpack(), labels);
        handle = await call(backend, 'create', new Sandbox.CreateOptions({state}));
        equal(handle.session.id, state.session_id);
        equal(await call(handle.session, 'read_text', 'kept'), 'bytes');
        await refused(Sandbox.Error, Sandbox.Error.BUSY, () => call(backend, 'create', new Sandbox.CreateOptions({state})));

        ok(await call(handle, 'delete'), 'the delete');
        ok(await call(handle, 'delete'), 'the second');
        equal(handle.phase, Sandbox.Phase.DELETED);
        await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND, () => call(backend, 'create', new Sandbox.CreateOptions({state})));

        handle = await call(backend, 'create', options);
        const other = handle.capture_state();
        ok(await call(handle, 'shutdown'), 'the shutdown');
        ok(await call(backend, 'delete_session', other), 'by its state');
        ok(await call(backend, 'delete_template', template.key), 'the template');
        equal((await call(backend, 'list_templates')).get_n_items(), 0);
        equal((await call(backend, 'list_sessions')).get_n_items(), 0);
        ok(GLib.spawn_sync(null, ['rm', '-r', '--', folder], null, GLib.SpawnFlags.SEARCH_PATH, null)[0]);
    });
}

await run();
