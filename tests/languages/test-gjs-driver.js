#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// The checks of tests/conformance over a driver in JavaScript, with asynchronous calls, and what is particular to one.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Sandbox from 'gi://Sandbox?version=1.0';
import System from 'system';

import {Backend, Driver, encode, made, promisify} from './memory-driver.js';
import {equal, ok, refused, run, sleep, test, until} from './tap.js';

promisify();
const registry = Sandbox.Registry.new();
registry.add_type('js-memory', 10, Backend);

const command = (argv, properties = {}) => new Sandbox.Command({argv, ...properties});
const bytes = data => new GLib.Bytes(data);
const decode = gbytes => new TextDecoder().decode(gbytes.toArray());

// A test over a session, in each manner of answering.
function check(name, body) {
    for (const answer of ['now', 'promise']) {
        test(`${answer}/${name}`, async () => {
            made.answer = answer;
            const backend = registry.create_backend('js-memory', null);
            const options = new Sandbox.CreateOptions({max_file_bytes: 100000});
            const handle = await backend.create_async(options, null);
            const driver = made.drivers.at(-1);
            const session = handle.get_session();
            try {
                await body({backend, handle, session, driver});
            } finally {
                driver.answer = 'now';
                driver.answerHeld();
                ok(await handle.stop_async(null), 'the stop');
                equal(driver.live.size, 0);
            }
        });
    }
}

// The same about files, in each form of the calls: below a synchronous one the driver of toys has to answer at once. Also over
// a driver that hands its requests on to a workspace, which has streams to write to and names that are not UTF-8.
function checkFiles(name, body) {
    for (const [kind, answer] of [['now', 'now'], ['promise', 'promise'], ['sync', 'now'], ['local', 'now'], ['local-sync', 'now']]) {
        test(`${kind}/${name}`, async () => {
            const isLocal = kind.startsWith('local');
            const isSync = kind.endsWith('sync');
            const call = (target, method, ...args) => isSync ? target[method](...args) : target[`${method}_async`](...args);
            const close = (stream, cancellable = null) => isSync ? stream.close(cancellable) : stream.close_async(0, cancellable);
            const top = Gio.File.new_for_path(GLib.dir_make_tmp('driver-XXXXXX'));
            const options = new Sandbox.CreateOptions({max_file_bytes: 100000});
            if (isLocal) {
                top.get_child('workspace').make_directory(null);
                options.set_workspace_path(top.get_child('workspace').get_path());
            }
            made.answer = answer;
            const handle = await call(registry.create_backend('js-memory', null), 'create', options, null);
            const session = handle.get_session();
            const forbid = (code, method, ...args) => refused(Sandbox.Error, code, () => call(session, method, ...args, null));
            try {
                await body({call: (...args) => call(session, ...args, null), close, forbid, isLocal, session, top});
            } finally {
                ok(await call(handle, 'stop', null), 'the stop');
                removeTree(top);
            }
        });
    }
}

// URIs, since a name may have bytes that no string of JavaScript has.
function childUris(directory) {
    const entries = directory.enumerate_children('standard::name', Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS, null);
    const uris = [];
    for (let [, , child] = entries.iterate(null); child !== null; [, , child] = entries.iterate(null))
        uris.push(child.get_uri());
    entries.close(null);
    return uris;
}

function removeTree(file) {
    if (file.query_file_type(Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS, null) === Gio.FileType.DIRECTORY) {
        for (const uri of childUris(file))
            removeTree(Gio.File.new_for_uri(uri));
    }
    file.delete(null);
}

async function assertOutput(session, output, argv, properties = {}) {
    const result = await session.run_async(command(argv, properties), null);
    ok(result.check(), 'the end');
    equal(decode(result.get_stdout()), output);
    equal(decode(result.get_stderr()), '');
}

check('backend', async ({backend}) => {
    for (const profile of [null, Sandbox.Profile.new()]) {
        const report = await backend.probe_async(profile, null);
        equal(report.get_grade(), Sandbox.Grade.PARTIAL);
        equal(report.get_gaps(), ['Toys need no walls']);
    }
    equal(backend.plan(command(['echo']), new Sandbox.CreateOptions()), '{"program": "echo"}');
    const network = Sandbox.NetworkPolicy.new_allow_all();
    await refused(Sandbox.Error, Sandbox.Error.NETWORK_DENIED,
        () => backend.create_async(new Sandbox.CreateOptions({network}), null));
    await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND,
        () => backend.create_async(new Sandbox.CreateOptions({workspace_path: '/no/where'}), null));
});

check('files', async ({session}) => {
    for (const name of ['plain', 'with space', '-rf', 'a\nb', 'Größe €', '\\xff\\xfe', 'deep/er/still']) {
        for (const size of [0, 1, 65537, 100000]) {
            const data = new Uint8Array(size).map((_, index) => index * 7);
            ok(await session.write_bytes_async(name, bytes(data), null));
            const read = await session.read_bytes_async(`/workspace/${name}`, null);
            ok(bytes(data).equal(read), 'what was read');
        }
        ok(await session.remove_path_async(name, null));
        await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND, () => session.read_bytes_async(name, null));
    }
});

check('text', async ({session}) => {
    for (const text of ['', 'plain\n', 'Größe €']) {
        ok(await session.write_text_async('dir/text', text, null));
        equal(await session.read_text_async('dir/text', null), text);
    }
    for (const data of [[97, 255, 98], [97, 0, 98]]) {
        await session.write_bytes_async('bad', bytes(new Uint8Array(data)), null);
        await refused(Sandbox.Error, Sandbox.Error.INVALID, () => session.read_text_async('bad', null));
    }
});

check('file-refusals', async ({session, driver}) => {
    const some = bytes(encode('x'));
    for (const path of ['', '/etc/passwd', '..', 'a/../b', './a', 'a//b', '\\x41']) {
        await refused(Sandbox.Error, Sandbox.Error.PATH, () => session.read_bytes_async(path, null));
        await refused(Sandbox.Error, Sandbox.Error.PATH, () => session.write_bytes_async(path, some, null));
        await refused(Sandbox.Error, Sandbox.Error.PATH, () => session.remove_path_async(path, null));
    }
    await refused(Sandbox.Error, Sandbox.Error.LIMIT, () => session.write_bytes_async('large', bytes(new Uint8Array(100001)), null));
    ok(await session.write_bytes_async('dir/file', some, null));
    await refused(Sandbox.Error, Sandbox.Error.INVALID, () => session.read_bytes_async('dir', null));
    await refused(Sandbox.Error, Sandbox.Error.INVALID, () => session.write_bytes_async('.', some, null));
    await refused(Sandbox.Error, Sandbox.Error.PATH, () => session.write_bytes_async('dir/file/below', some, null));
    await refused(Sandbox.Error, Sandbox.Error.PATH, () => session.remove_path_async('.', null));
    driver.files.set('huge', new Uint8Array(100001));
    await refused(Sandbox.Error, Sandbox.Error.LIMIT, () => session.read_bytes_async('huge', null));
    ok(await session.remove_path_async('dir', null));
    await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND, () => session.read_text_async('dir/file', null));
});

checkFiles('directories', async ({call, forbid}) => {
    const kindOf = async path => (await call('query_info', path)).get_file_type();
    const list = async path => {
        const listing = await call('list_directory', path);
        const infos = Array.from({length: listing.get_n_items()}, (_, index) => listing.get_item(index));
        equal(listing.get_truncated(), false);
        return infos.map(info => [info.get_name(), info.get_file_type()]).sort();
    };

    ok(await call('make_directory', 'a/b'));
    ok(await call('write_text', 'a/f', 'four'));
    equal(await list('a'), [['b', Gio.FileType.DIRECTORY], ['f', Gio.FileType.REGULAR]]);
    equal(await list('a/b'), []);
    equal(await list('.'), [['a', Gio.FileType.DIRECTORY]]);
    const info = await call('query_info', '/workspace/a/f');
    equal([info.get_name(), info.get_file_type(), info.get_size()], ['f', Gio.FileType.REGULAR, 4]);
    equal([await kindOf('a'), await kindOf('.')], [Gio.FileType.DIRECTORY, Gio.FileType.DIRECTORY]);

    ok(await call('move', 'a/f', 'a/b/g'));
    equal(await call('read_text', 'a/b/g'), 'four');
    await forbid(Sandbox.Error.INVALID, 'move', 'a', 'a/b/c');
    ok(await call('move', 'a', 'c'));
    equal(await call('read_text', 'c/b/g'), 'four');
    await forbid(Sandbox.Error.NOT_FOUND, 'list_directory', 'a');
    ok(await call('move', 'c', 'a'));

    for (const [code, ...refusedCall] of [
        [Sandbox.Error.NOT_FOUND, 'list_directory', 'missing'],
        [Sandbox.Error.PATH, 'list_directory', 'a/b/g'],
        [Sandbox.Error.PATH, 'list_directory', '..'],
        [Sandbox.Error.NOT_FOUND, 'query_info', 'a/f'],
        [Sandbox.Error.PATH, 'query_info', 'a/b/g/x'],
        [Sandbox.Error.EXISTS, 'make_directory', 'a/b'],
        [Sandbox.Error.PATH, 'make_directory', 'a/b/g/x'],
        [Sandbox.Error.NOT_FOUND, 'move', 'missing', 'x'],
        [Sandbox.Error.NOT_FOUND, 'move', 'a/b/g', 'missing/x'],
        [Sandbox.Error.EXISTS, 'move', 'a/b/g', 'a/b'],
        [Sandbox.Error.PATH, 'move', '.', 'x'],
        [Sandbox.Error.PATH, 'move', 'a', '../x'],
    ])
        await forbid(code, ...refusedCall);
    ok(await call('remove_path', 'a'));
    equal(await list('.'), []);
});

checkFiles('streams', async ({call, close, forbid, isLocal}) => {
    ok(await call('write_text', 'f', 'old'));
    const source = await call('open_read', 'f');
    equal(decode(await source.read_bytes_async(100, 0, null)), 'old');
    ok(await close(source));
    await forbid(Sandbox.Error.NOT_FOUND, 'open_read', 'missing');
    await forbid(Sandbox.Error.INVALID, 'open_read', '.');
    await forbid(Sandbox.Error.PATH, 'open_write', '../f');
    if (!isLocal) {
        const error = await forbid(Sandbox.Error.NOT_SUPPORTED, 'open_write', 'f');
        ok(error.message.includes('cannot open files for writing'), error.message);
        equal(await call('read_text', 'f'), 'old');
        return;
    }

    const large = bytes(new Uint8Array(3 << 20).map((_, index) => index * 13));
    let target = await call('open_write', 'f');
    for (let done = 0; done < large.get_size();)
        done += await target.write_bytes_async(large.new_from_bytes(done, large.get_size() - done), 0, null);
    equal(await call('read_text', 'f'), 'old');
    ok(await close(target));
    await forbid(Sandbox.Error.LIMIT, 'read_bytes', 'f');
    const back = await call('open_read', 'f');
    ok(back.read_bytes(large.get_size() + 1, null).equal(large), 'what was read');

    target = await call('open_write', 'f');
    target.write_all(encode('new'), null);
    const cancellable = new Gio.Cancellable();
    cancellable.cancel();
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => close(target, cancellable));
    await forbid(Sandbox.Error.LIMIT, 'read_bytes', 'f');
});

checkFiles('trees', async ({call, forbid, isLocal, session, top}) => {
    const told = [];
    session.connect('transfer-progress', (_session, ...numbers) => told.push(numbers));
    const source = top.get_child('from');
    const content = new Map([['inner/file', 'in a tree'], ['Größe', ''], ['odd\\', 'x'.repeat(70000)]]);
    source.resolve_relative_path('inner/empty').make_directory_with_parents(null);
    for (const [name, data] of content)
        GLib.file_set_contents(source.resolve_relative_path(name).get_path(), encode(data));
    source.get_child('link').make_symbolic_link('/etc/passwd', null);

    ok(await call('import_directory', source, 'some/dir'));
    equal(told.at(-1), ['some/dir', 70009, 3, 1]);
    equal(await call('read_text', 'some/dir/inner/file'), 'in a tree');
    equal((await call('read_bytes', 'some/dir/odd\\x5c')).get_size(), 70000);
    await forbid(Sandbox.Error.NOT_FOUND, 'query_info', 'some/dir/link');

    const target = top.get_child('to');
    ok(await call('export_directory', 'some/dir', target));
    equal(told.at(-1), ['some/dir', 70009, 3, 0]);
    equal(childUris(target).map(uri => decodeURIComponent(GLib.path_get_basename(uri))).sort(), ['Größe', 'inner', 'odd\\']);
    equal(childUris(target.resolve_relative_path('inner/empty')), []);
    for (const [name, data] of content)
        ok(bytes(target.resolve_relative_path(name).load_contents(null)[1]).equal(bytes(encode(data))), name);

    const nowhere = top.get_child('nowhere');
    const remote = Gio.File.new_for_uri('nothing://of/this');
    for (const [code, ...refusedCall] of [
        [Sandbox.Error.EXISTS, 'export_directory', 'some/dir', target],
        [Sandbox.Error.NOT_FOUND, 'export_directory', 'missing', nowhere],
        [Sandbox.Error.PATH, 'export_directory', '../x', nowhere],
        [Sandbox.Error.NOT_SUPPORTED, 'export_directory', '.', remote],
        [Sandbox.Error.NOT_FOUND, 'import_directory', nowhere, 'dir'],
        [Sandbox.Error.PATH, 'import_directory', source, '../dir'],
        [Sandbox.Error.PATH, 'import_directory', source, 'some/dir/inner/file'],
        [Sandbox.Error.NOT_SUPPORTED, 'import_directory', remote, 'dir'],
    ])
        await forbid(code, ...refusedCall);
    equal(nowhere.query_exists(null), false);

    const odd = top.get_child('odd');
    odd.make_directory(null);
    Gio.File.new_for_uri(`${odd.get_uri()}/%ff`).create(Gio.FileCreateFlags.NONE, null).close(null);
    if (!isLocal) {
        await forbid(Sandbox.Error.NOT_SUPPORTED, 'import_directory', odd, 'odd');
        ok(await call('write_text', 'odd/\\xff', ''));
    } else {
        ok(await call('import_directory', odd, 'odd'));
    }
    ok(await call('export_directory', 'odd', top.get_child('back')));
    equal(childUris(top.get_child('back')), [`${top.get_child('back').get_uri()}/%FF`]);
});

checkFiles('files-cancelled', async ({forbid, session, top}) => {
    const cancellable = new Gio.Cancellable();
    cancellable.cancel();
    for (const [method, ...args] of [
        ['read_bytes', 'f'], ['write_text', 'f', 'x'], ['remove_path', 'f'], ['list_directory', '.'], ['query_info', '.'],
        ['make_directory', 'f'], ['move', 'f', 'g'], ['open_read', 'f'], ['open_write', 'f'], ['import_directory', top, 'f'],
        ['export_directory', '.', top],
    ]) {
        await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => session[method](...args, cancellable));
        await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => session[`${method}_async`](...args, cancellable));
    }
    await forbid(Sandbox.Error.NOT_FOUND, 'query_info', 'f');
});

check('run', async ({session}) => {
    await assertOutput(session, ' two  words Größe\n', ['echo', '', 'two  words', 'Größe']);
    await assertOutput(session, 'blue\n', ['env', 'COLOUR'], {environment: ['COLOUR=blue']});
    ok(await session.write_text_async('here/file', 'in a file', null));
    await assertOutput(session, '/workspace/here\n', ['pwd'], {cwd: 'here'});
    await assertOutput(session, '/workspace\n', ['pwd']);
    await assertOutput(session, 'in a file', ['cat', 'here/file']);
    await assertOutput(session, 'from\0the host', ['cat'], {stdin: bytes(encode('from\0the host'))});
    await assertOutput(session, '', ['cat']);
    const missing = await session.run_async(command(['cat', 'nowhere']), null);
    equal([missing.get_exit_status(), missing.dup_stderr_text()], [1, 'no such file\n']);
});

check('ends', async ({session}) => {
    for (const status of [0, 1, 127, 255]) {
        const result = await session.run_async(command(['exit', `${status}`]), null);
        equal([result.get_outcome(), result.get_exit_status(), result.get_signal()], [Sandbox.Outcome.EXITED, status, 0]);
    }
    const result = await session.run_async(command(['signal', '11']), null);
    equal([result.get_outcome(), result.get_exit_status(), result.get_signal()], [Sandbox.Outcome.SIGNALED, -1, 11]);
    equal((await session.run_async(command(['vanish']), null)).get_outcome(), Sandbox.Outcome.LOST);
    const three = await session.run_async(command(['exit', '3']), null);
    await refused(Sandbox.Error, Sandbox.Error.FAILED, () => three.check());
});

check('not-started', async ({backend, session}) => {
    backend.set_max_concurrent_commands(1);
    await session.write_text_async('script', 'x', null);
    for (const [code, wrong] of [
        [Sandbox.Error.INVALID, command([''])],
        [Sandbox.Error.LIMIT, command(['echo', 'x'.repeat(200000)])],
        [Sandbox.Error.NOT_FOUND, command(['no-such-program'])],
        [Sandbox.Error.DENIED, command(['script'])],
        [Sandbox.Error.NOT_FOUND, command(['pwd'], {cwd: 'missing'})],
        [Sandbox.Error.PATH, command(['pwd'], {cwd: 'script'})],
        [Sandbox.Error.PATH, command(['pwd'], {cwd: '/etc'})],
        [Sandbox.Error.NOT_SUPPORTED, command(['echo'], {terminal: true})],
        [Sandbox.Error.NOT_SUPPORTED, command(['echo'], {limits: new Sandbox.Limits({open_files: 64})})],
    ]) {
        await refused(Sandbox.Error, code, () => session.run_async(wrong, null));
        await refused(Sandbox.Error, code, () => session.spawn_async(wrong, null));
    }
    await assertOutput(session, 'free\n', ['echo', 'free']);
});

check('output', async ({session}) => {
    for (const [output, errors, over] of [[99999, 0, 0], [50000, 50000, 0], [50001, 50000, 1], [0, 100001, 1]]) {
        for (const output_limit_action of [Sandbox.OutputLimitAction.KILL, Sandbox.OutputLimitAction.TRUNCATE]) {
            const result = await session.run_async(
                command(['flood', `${output}`, `${errors}`], {max_output: 100000, output_limit_action}), null);
            equal(result.get_stdout().get_size() + result.get_stderr().get_size(), output + errors - over);
            equal(result.get_truncated(), over > 0);
            const killed = over > 0 && output_limit_action === Sandbox.OutputLimitAction.KILL;
            equal(result.get_outcome(), killed ? Sandbox.Outcome.OUTPUT_LIMIT : Sandbox.Outcome.EXITED);
        }
    }
    const endless = await session.run_async(command(['yes'], {max_output: 65536}), null);
    equal([endless.get_outcome(), endless.get_stdout().get_size()], [Sandbox.Outcome.OUTPUT_LIMIT, 65536]);
});

check('time', async ({session}) => {
    const before = GLib.get_monotonic_time();
    const result = await session.run_async(command(['hang'], {timeout_ms: 200}), null);
    equal(result.get_outcome(), Sandbox.Outcome.TIMED_OUT);
    ok(GLib.get_monotonic_time() - before >= 190000 && GLib.get_monotonic_time() - before < 5000000, 'the time');
});

check('cancelled', async ({session, driver}) => {
    let cancellable = new Gio.Cancellable();
    cancellable.cancel();
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => session.read_bytes_async('f', cancellable));
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => session.run_async(command(['echo']), cancellable));
    cancellable = new Gio.Cancellable();
    sleep(100).then(() => cancellable.cancel());
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => session.run_async(command(['hang']), cancellable));
    await until(() => driver.live.size === 0);
});

check('spawn', async ({session}) => {
    const process = await session.spawn_async(command(['cat']), null);
    const listed = session.list_processes();
    equal([listed.get_n_items(), listed.get_item(0) === process], [1, true]);
    await process.get_stdin().write_bytes_async(bytes(encode('ping')), 0, null);
    equal(decode(await process.get_stdout().read_bytes_async(16, 0, null)), 'ping');
    await process.get_stdin().close_async(0, null);
    ok(await process.wait_async(null));
    equal(process.get_result().get_exit_status(), 0);
    equal(session.list_processes().get_n_items(), 0);
});

check('communicate', async ({session}) => {
    const data = new Uint8Array(1 << 20).map((_, index) => index * 13);
    const process = await session.spawn_async(command(['cat'], {max_output: 2 << 20}), null);
    const result = await process.communicate_async(bytes(data), null);
    ok(result.get_stdout().equal(bytes(data)), 'the output');
    const empty = await (await session.spawn_async(command(['cat']), null)).communicate_async(null, null);
    equal(empty.get_stdout().get_size(), 0);
    // A driver that pushes has no stream to write the input to.
    const pushing = await session.spawn_async(command(['sleep', '50']), null);
    equal(pushing.get_stdin(), null);
    await refused(Sandbox.Error, Sandbox.Error.INVALID, () => pushing.communicate_async(bytes(data), null));
    ok(await pushing.wait_async(null));
});

check('signals', async ({session}) => {
    let process = await session.spawn_async(command(['sleep']), null);
    ok(process.send_signal(15));
    ok(await process.wait_async(null));
    equal(process.get_result().get_signal(), 15);
    process = await session.spawn_async(command(['hang'], {kill_grace_ms: 100}), null);
    ok(await process.stop_async(null));
    equal(process.get_result().get_outcome(), Sandbox.Outcome.STOPPED);
    process = await session.spawn_async(command(['hang']), null);
    await refused(Sandbox.Error, Sandbox.Error.NOT_SUPPORTED, () => process.resize(30, 90));
    ok(process.kill());
    ok(await process.wait_async(null));
    await refused(Sandbox.Error, Sandbox.Error.STOPPED, () => process.send_signal(15));
});

check('wait-cancelled', async ({session}) => {
    const process = await session.spawn_async(command(['hang']), null);
    const cancellable = new Gio.Cancellable();
    sleep(50).then(() => cancellable.cancel());
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => process.wait_async(cancellable));
    equal(process.get_result(), null);
    process.kill();
    ok(await process.wait_async(null));
});

check('busy', async ({backend, session}) => {
    backend.set_max_concurrent_commands(2);
    const first = await session.spawn_async(command(['hang']), null);
    const second = await session.spawn_async(command(['hang']), null);
    await refused(Sandbox.Error, Sandbox.Error.BUSY, () => session.run_async(command(['echo']), null));
    first.kill();
    await first.wait_async(null);
    await assertOutput(session, 'next\n', ['echo', 'next']);
    second.kill();
    await second.wait_async(null);
});

check('policies', async ({session}) => {
    const deny = Sandbox.NetworkPolicy.new_deny_all();
    ok(await session.set_network_policy_async(deny, null));
    await refused(Sandbox.Error, Sandbox.Error.NETWORK_DENIED,
        () => session.set_network_policy_async(Sandbox.NetworkPolicy.new_allow_all(), null));
    const process = await session.spawn_async(command(['hang']), null);
    await refused(Sandbox.Error, Sandbox.Error.BUSY, () => session.set_network_policy_async(deny, null));
    process.kill();
    await process.wait_async(null);
});

check('stop', async ({handle, session}) => {
    const processes = [
        await session.spawn_async(command(['sleep']), null),
        await session.spawn_async(command(['hang'], {kill_grace_ms: 100}), null),
    ];
    equal(handle.get_phase(), Sandbox.Phase.LIVE);
    ok(await handle.stop_async(null));
    equal(handle.get_phase(), Sandbox.Phase.STOPPED);
    equal(processes.map(process => process.get_result().get_outcome()), [Sandbox.Outcome.STOPPED, Sandbox.Outcome.STOPPED]);
    await refused(Sandbox.Error, Sandbox.Error.STOPPED, () => session.read_bytes_async('f', null));
    await refused(Sandbox.Error, Sandbox.Error.STOPPED, () => session.run_async(command(['echo']), null));
    ok(await handle.shutdown_async(null));
});

check('at-once', async ({session}) => {
    const runs = Array.from({length: 8}, (_, index) => session.run_async(command(['echo', `${index}`]), null));
    const outputs = (await Promise.all(runs)).map(result => result.dup_stdout_text());
    equal(outputs, Array.from({length: 8}, (_, index) => `${index}\n`));
});

// ---- What a driver in JavaScript may and may not do

function bare(name, body) {
    test(`bare/${name}`, async () => {
        const driver = new Driver();
        await body({driver, session: Sandbox.Session.new_for_driver(driver)});
    });
}

bare('error', async ({driver, session}) => {
    driver.answer = 'error';
    await refused(Sandbox.Error, Sandbox.Error.DENIED, () => session.read_bytes_async('f', null));
    await refused(Sandbox.Error, Sandbox.Error.DENIED, () => session.run_async(command(['echo']), null));
    await refused(Sandbox.Error, Sandbox.Error.DENIED, () => session.query_info_async('.', null));
    await refused(Sandbox.Error, Sandbox.Error.DENIED, () => session.query_info('.', null));
});

bare('exception', async ({driver, session}) => {
    // GJS makes a GError of a domain of its own out of any exception.
    driver.answer = 'no such manner';
    let error = null;
    await session.read_bytes_async('f', null).catch(caught => {
        error = caught;
    });
    ok(error instanceof Error && error.message.includes('no such manner'), `the error ${error}`);
});

bare('false', async ({driver, session}) => {
    driver.answer = 'false';
    await refused(Sandbox.Error, Sandbox.Error.FAILED, () => session.read_bytes_async('f', null));
    await refused(Sandbox.Error, Sandbox.Error.FAILED, () => session.list_directory_async('.', null));
});

bare('dropped', async ({driver, session}) => {
    // Nobody knows before the garbage is collected.
    driver.answer = 'dropped';
    const promise = session.read_bytes_async('f', null);
    sleep(10).then(() => System.gc());
    await refused(Sandbox.Error, Sandbox.Error.FAILED, () => promise);
});

bare('late', async ({driver, session}) => {
    driver.answer = 'held';
    const cancellable = new Gio.Cancellable();
    const told = [];
    const promise = session.read_bytes_async('f', cancellable);
    driver.held[0][0].connect('cancelled', request => told.push(request.is_cancelled()));
    cancellable.cancel();
    await refused(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED, () => promise);
    await until(() => told.length > 0);
    equal(told, [true]);
    driver.answerHeld();
});

bare('synchronous', async ({session}) => {
    // A driver that answers before its function returns needs no main loop.
    ok(session.write_text('f', 'at once', null));
    equal(session.read_text('f', null), 'at once');
    equal(session.run(command(['cat', 'f']), null).dup_stdout_text(), 'at once');
    await refused(Sandbox.Error, Sandbox.Error.NOT_FOUND, () => session.read_text('missing', null));
});

bare('awaiting-below-a-synchronous-call', async ({driver, session}) => {
    // One that awaits does, and the loop does not run: it is an error when the time is up, and no hang.
    driver.answer = 'promise';
    const before = GLib.get_monotonic_time();
    await refused(Sandbox.Error, Sandbox.Error.LIMIT, () => session.run(command(['hang']), null));
    ok(GLib.get_monotonic_time() - before < 25000000, 'the time');
    await until(() => driver.live.size === 0);
});

bare('kept-driver', async ({session}) => {
    await session.write_text_async('f', 'kept', null);
    System.gc();
    equal(await session.read_text_async('f', null), 'kept');
});

bare('empty', async () => {
    const Nothing = GObject.registerClass({Implements: [Sandbox.Driver]}, class Nothing extends GObject.Object {});
    await refused(Sandbox.Error, Sandbox.Error.NOT_SUPPORTED, () => Sandbox.Session.new_for_driver(new Nothing()));
    const Reader = GObject.registerClass({Implements: [Sandbox.Driver]}, class Reader extends GObject.Object {
        vfunc_read(path, _offset, _maximum, request) {
            request.return_bytes(bytes(encode(path)));
            return true;
        }
    });
    const session = Sandbox.Session.new_for_driver(new Reader());
    equal(await session.read_text_async('name', null), 'name');
    const here = Gio.File.new_for_path('.');
    for (const [what, method, ...args] of [
        ['write files', 'write_text', 'f', 'x'],
        ['remove files', 'remove_path', 'f'],
        ['start commands', 'run', command(['echo'])],
        ['start commands', 'spawn', command(['echo'])],
        ['enforce a network policy', 'set_network_policy', Sandbox.NetworkPolicy.new_deny_all()],
        ['list directories', 'list_directory', '.'],
        ['describe files', 'query_info', 'f'],
        ['make directories', 'make_directory', 'd'],
        ['move files', 'move', 'f', 'g'],
        ['open files for reading', 'open_read', 'f'],
        ['open files for writing', 'open_write', 'f'],
        ['import directories', 'import_directory', here, 'd'],
        ['export directories', 'export_directory', '.', here],
    ]) {
        for (const call of [() => session[method](...args, null), () => session[`${method}_async`](...args, null)]) {
            const error = await refused(Sandbox.Error, Sandbox.Error.NOT_SUPPORTED, call);
            ok(error.message.includes(`Reader cannot ${what}`), error.message);
        }
    }
});

bare('many', async ({session}) => {
    const count = () => {
        let entries = 0;
        const children = Gio.File.new_for_path('/proc/self/fd').enumerate_children('standard::name', 0, null);
        while (children.next_file(null) !== null)
            entries++;
        return entries;
    };
    session.write_text('f', 'x', null);
    for (let index = 0; index < 100; index++)
        await assertOutput(session, 'x\n', ['echo', 'x']);
    const before = count();
    for (let index = 0; index < 300; index++) {
        await assertOutput(session, 'x\n', ['echo', 'x']);
        equal(await session.read_text_async('f', null), 'x');
    }
    // Synchronous calls: their contexts must not wait for a garbage collection.
    for (let index = 0; index < 3000; index++)
        session.read_text('f', null);
    ok(count() <= before + 5, 'the number of descriptors');
});

await run();
