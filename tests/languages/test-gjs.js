#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// What a host in JavaScript sees: test-gjs.js [BACKEND], over the driver in JavaScript or a backend of the registry.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Sandbox from 'gi://Sandbox?version=1.0';
import System from 'system';

import {Backend, encode, promisify} from './memory-driver.js';
import {equal, ok, refused, run, sleep, test} from './tap.js';

promisify();
const name = ARGV[0] ?? 'js-memory';
const toys = name === 'js-memory';
const nap = toys ? ['sleep', '300'] : ['sleep', '0.3'];
const long = toys ? ['sleep'] : ['sleep', '1000'];
const three = toys ? ['exit', '3'] : ['sh', '-c', 'exit 3'];

const registry = Sandbox.Registry.new();
registry.add_type('js-memory', 10, Backend);

function session(title, body) {
    test(`session/${title}`, async () => {
        const folder = toys ? null : GLib.dir_make_tmp('gjs-XXXXXX');
        const backend = registry.create_backend(name, null);
        const handle = await backend.create_async(new Sandbox.CreateOptions({workspace_path: folder}), null);
        try {
            await body({backend, handle, session: handle.get_session()});
        } finally {
            ok(await handle.shutdown_async(null), 'the shutdown');
            if (folder !== null)
                ok(GLib.spawn_sync(null, ['rm', '-r', '--', folder], null, GLib.SpawnFlags.SEARCH_PATH, null)[0]);
        }
    });
}

test('values/properties', async () => {
    const command = new Sandbox.Command({
        argv: ['ls', '-l', ''], cwd: 'dir', environment: ['A=1', 'B='], timeout_ms: 5, max_output: 2 ** 40,
        stdin: new GLib.Bytes(new Uint8Array([0, 255])), terminal: true, label: 'name',
        output_limit_action: Sandbox.OutputLimitAction.TRUNCATE, limits: new Sandbox.Limits({tasks: 3}),
    });
    equal(command.get_argv(), ['ls', '-l', '']);
    equal(command.environment, ['A=1', 'B=']);
    equal(Array.from(command.get_stdin().toArray()), [0, 255]);
    equal([command.cwd, command.timeout_ms, command.maxOutput, command.label], ['dir', 5, 2 ** 40, 'name']);
    equal(command.output_limit_action, Sandbox.OutputLimitAction.TRUNCATE);
    equal(command.limits.tasks, 3);
    command.set_stdin(new Uint8Array([7]));
    equal(Array.from(command.stdin.toArray()), [7]);
    equal(Sandbox.Command.new(['ls', 'ö']).argv, ['ls', 'ö']);
});

test('values/null', async () => {
    const command = new Sandbox.Command({argv: ['ls'], stdin: null, limits: null, label: null});
    for (const property of ['stdin', 'limits', 'label']) {
        equal(command[`get_${property}`](), null);
        command[`set_${property}`](null);
        command[property] = null;
        equal(command[property], null);
    }
    const options = new Sandbox.CreateOptions({network: null, profile: null, workspace_path: null, labels: null});
    for (const property of ['network', 'profile', 'workspace_path', 'labels']) {
        equal(options[`get_${property}`](), null);
        options[`set_${property}`](null);
        options[property] = null;
        equal(options[property], null);
    }
});

test('values/variant', async () => {
    const options = new Sandbox.CreateOptions({labels: new GLib.Variant('a{ss}', {a: 'b', 'ö': ''})});
    equal(options.get_labels().recursiveUnpack(), {a: 'b', 'ö': ''});
});

test('values/profile', async () => {
    const profile = new Sandbox.Profile({identity: Sandbox.Identity.OWNER, filter: Sandbox.Filter.STRICT, view: Sandbox.View.SYSTEM});
    profile.add_mount(Sandbox.Mount.new('/srv/ö', '/data', Sandbox.MountMode.READ_ONLY));
    const again = Sandbox.Profile.new_from_json(profile.to_json());
    equal([again.identity, again.filter, again.launcherUid], [Sandbox.Identity.OWNER, Sandbox.Filter.STRICT, -1]);
    ok(again.explain('/data/x').includes('“/srv/ö/x” of the host'));
    for (const name of ['agent', 'build', 'inspect', 'converter'])
        ok(Sandbox.Profile.new_preset(name).limits.processes > 0);
    equal(Sandbox.Profile.new_preset('unknown'), null);
});

test('values/network-policy', async () => {
    const policy = Sandbox.NetworkPolicy.new_allow_list();
    ok(policy.add_origin('https://example.org', null));
    ok(policy.add_origin('https://example.com', new GLib.Variant('a{ss}', {'X-Key': 'v'})));
    for (let i = 0; i < 2; i++) {
        equal(policy.dup_origins().sort(), ['https://example.com', 'https://example.org']);
        System.gc();
    }
    let error = null;
    try {
        policy.add_origin('no origin', null);
    } catch (caught) {
        error = caught;
    }
    ok(error instanceof Sandbox.Error, 'the error');
});

test('values/notify', async () => {
    const command = new Sandbox.Command({argv: ['ls']});
    const seen = [];
    command.connect('notify::timeout-ms', () => seen.push(command.timeout_ms));
    command.timeout_ms = 7;
    command.set_timeout_ms(7);
    equal(seen, [7]);
});

test('registry/list', async () => {
    for (let i = 0; i < 2; i++) {
        const names = Array.from({length: registry.get_n_items()}, (_, index) => registry.get_item(index).get_name());
        System.gc();
        ok(names.includes('js-memory'), 'the backend');
    }
    equal(registry.lookup('js-memory').get_priority(), 10);
    equal(registry.lookup('nothing of this name'), null);
    await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND, () => registry.create_backend('nothing of this name', null));
});

session('properties', async ({backend, handle, session: it}) => {
    equal(backend.get_name(), name);
    equal(backend.get_state_directory(), null);
    ok(handle.session === it, 'the same session');
    equal(it.id.length, 64);
    equal(it.resolve_path('a'), '/workspace/a');
    equal(handle.phase, Sandbox.Phase.LIVE);
    const report = await backend.probe_async(null, null);
    ok(report.to_json().startsWith('{'), 'the report');
    ok(report.get_steps().get_n_items() >= 0, 'the steps');
});

session('bytes', async ({session: it}) => {
    for (const data of [[], [97, 0, 98, 255], Array.from({length: 70000}, (_, index) => index % 256)]) {
        const bytes = new GLib.Bytes(new Uint8Array(data));
        ok(await it.write_bytes_async('odd', bytes, null));
        // A Uint8Array is fine for an argument.
        ok(await it.write_bytes_async('odd', new Uint8Array(data), null));
        const read = await it.read_bytes_async('odd', null);
        const again = await it.read_bytes_async('odd', null);
        System.gc();
        ok(read.equal(bytes) && again.equal(bytes), 'what was read');
        const output = (await it.run_async(new Sandbox.Command({argv: ['cat', 'odd']}), null)).get_stdout();
        System.gc();
        ok(output.equal(bytes), 'the output');
    }
    await it.write_bytes_async('odd', new Uint8Array([97, 255, 98]), null);
    equal((await it.run_async(new Sandbox.Command({argv: ['cat', 'odd']}), null)).dup_stdout_text(), 'a\ufffdb');
});

session('errors', async ({session: it}) => {
    const error = await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND, () => it.read_text_async('missing', null));
    ok(error instanceof Sandbox.Error, 'the class');
    ok(!error.matches(Sandbox.Error, Sandbox.Error.PATH), 'another code');
    const result = await it.run_async(new Sandbox.Command({argv: three}), null);
    equal(result.get_exit_status(), 3);
    await refused(Sandbox.Error, Sandbox.Error.FAILED, () => result.check());
});

session('callback', async ({session: it}) => {
    const text = await new Promise((resolve, reject) => {
        it.run_async(new Sandbox.Command({argv: ['echo', 'hi']}), null, (source, result) => {
            try {
                resolve(source.run_finish(result).dup_stdout_text());
            } catch (error) {
                reject(error);
            }
        });
    });
    equal(text, 'hi\n');
});

session('cancellation', async ({session: it}) => {
    const cancellable = new Gio.Cancellable();
    sleep(100).then(() => cancellable.cancel());
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => it.run_async(new Sandbox.Command({argv: long}), cancellable));
});

session('at-once', async ({session: it}) => {
    const runs = Array.from({length: 5}, () => it.run_async(new Sandbox.Command({argv: nap}), null));
    let together = 0;
    let over = false;
    const all = Promise.all(runs).then(results => {
        over = true;
        return results;
    });
    while (!over) {
        together = Math.max(together, it.list_processes().get_n_items());
        await sleep(2);
    }
    equal((await all).map(result => result.get_exit_status()), [0, 0, 0, 0, 0]);
    ok(together > 1, 'so many together');
});

session('processes', async ({session: it}) => {
    const process = await it.spawn_async(new Sandbox.Command({argv: ['cat']}), null);
    for (let i = 0; i < 2; i++) {
        const listed = it.list_processes();
        equal([listed.get_n_items(), listed.get_item(0).get_id()], [1, process.id]);
        System.gc();
    }
    equal(process.result, null);
    const result = await process.communicate_async(new Uint8Array(encode('fed')), null);
    equal(new TextDecoder().decode(result.get_stdout().toArray()), 'fed');
    equal(process.get_result().get_exit_status(), 0);
});

session('kept', async ({session: it}) => {
    let process = await it.spawn_async(new Sandbox.Command({argv: nap}), null);
    System.gc();
    ok(await process.wait_async(null));
    process = null;
    System.gc();
    equal((await it.run_async(new Sandbox.Command({argv: ['echo', 'x']}), null)).dup_stdout_text(), 'x\n');
});

if (!toys) {
    // A driver in C needs no main loop.
    session('synchronous', async ({session: it}) => {
        ok(it.write_text('f', 'at once', null));
        equal(it.read_text('f', null), 'at once');
        equal(it.run(new Sandbox.Command({argv: ['cat', 'f']}), null).dup_stdout_text(), 'at once');
        const process = it.spawn(new Sandbox.Command({argv: nap}), null);
        ok(process.wait(null));
        const cancellable = new Gio.Cancellable();
        cancellable.cancel();
        await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => it.run(new Sandbox.Command({argv: long}), cancellable));
    });
}

await run();
