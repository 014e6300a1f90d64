#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// How commands run and end, in JavaScript, with promises throughout. commands.c and commands.py show the same with calls
// that wait, which JavaScript has as well; demo.js is the tour to begin with.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Sandbox from 'gi://Sandbox?version=1.0';
import System from 'system';

Gio._promisify(Sandbox.Backend.prototype, 'create_async', 'create_finish');
Gio._promisify(Sandbox.Handle.prototype, 'stop_async', 'stop_finish');
Gio._promisify(Sandbox.Process.prototype, 'wait_async', 'wait_finish');
for (const call of ['read_bytes', 'read_text', 'run', 'spawn', 'write_bytes', 'write_text'])
    Gio._promisify(Sandbox.Session.prototype, `${call}_async`, `${call}_finish`);
Gio._promisify(Gio.DataInputStream.prototype, 'read_line_async', 'read_line_finish_utf8');
Gio._promisify(Gio.OutputStream.prototype, 'write_bytes_async', 'write_bytes_finish');
Gio._promisify(Gio.OutputStream.prototype, 'close_async', 'close_finish');

const bytes = text => new GLib.Bytes(new TextEncoder().encode(text));

function describe(result) {
    switch (result.get_outcome()) {
    case Sandbox.Outcome.EXITED:
        return `exited with ${result.get_exit_status()}`;
    case Sandbox.Outcome.SIGNALED:
        return `ended by signal ${result.get_signal()} (${GLib.strsignal(result.get_signal())})`;
    case Sandbox.Outcome.TIMED_OUT:
        return `timed out: killed after ${Math.floor(result.get_wall_time_us() / 1000)} ms`;
    case Sandbox.Outcome.OUTPUT_LIMIT:
        return `wrote too much: killed, ${result.get_stdout().get_size()} bytes are kept`;
    default:
        return `outcome ${result.get_outcome()}`;
    }
}

// What started gives a result, however it ended; what did not start throws a Sandbox.Error.
async function run(session, argv, properties = {}) {
    print(`  $ ${argv.map(word => /[ $;<>]/.test(word) ? GLib.shell_quote(word) : word).join(' ')}`);
    const result = await session.run_async(new Sandbox.Command({argv, ...properties}), null);
    for (const text of [result.dup_stdout_text(), result.dup_stderr_text()]) {
        const lines = text.split('\n').filter(line => line !== '');
        for (const line of lines.slice(0, 6))
            print(`      ${line}`);
        if (lines.length > 6)
            print('      …');
    }
    print(`    → ${describe(result)}`);
    return result;
}

async function create(directory) {
    print('\n1. A session over a directory');
    const backend = Sandbox.Registry.get_default().create_backend('bubblewrap', null);
    const handle = await backend.create_async(new Sandbox.CreateOptions({workspacePath: directory}), null);
    print(`  ${directory} on the host is ${handle.get_session().get_workspace_path()} in the sandbox`);
    return handle;
}

async function files(session) {
    print('\n2. Files, as text and as bytes');
    await session.write_text_async('notes.txt', 'Grüße aus JavaScript\n', null);
    print(`  notes.txt says: ${(await session.read_text_async('notes.txt', null)).trimEnd()}`);

    const everyByte = new GLib.Bytes(Uint8Array.from({length: 256}, (_, i) => i));
    await session.write_bytes_async('bytes.bin', everyByte, null);
    const back = await session.read_bytes_async('/workspace/bytes.bin', null);
    print(`  bytes.bin: wrote ${everyByte.get_size()} bytes, read ${back.equal(everyByte) ? 'the same back' : 'something else back'}`);
}

async function commands(session) {
    print('\n3. Commands, and how they end');
    await run(session, ['sh', '-c', 'echo Hello from $(uname -n); pwd; ls; cat notes.txt']);
    print('  with “pears” and “apples” as its input:');
    await run(session, ['sort'], {stdin: bytes('pears\napples\n')});
    await run(session, ['sh', '-c', 'echo That went wrong >&2; exit 3']);
    await run(session, ['sh', '-c', 'kill -SEGV $$']);
    print('  allowed to take 300 ms:');
    await run(session, ['sleep', '60'], {timeoutMs: 300});
    print('  allowed to write 1000 bytes:');
    await run(session, ['yes'], {maxOutput: 1000});
    const used = await run(session, ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done']);
    print(`    it used ${Math.floor((used.get_user_time_us() + used.get_system_time_us()) / 1000)} ms of processor time` +
        ` and ${Math.floor(used.get_peak_memory_bytes() / 1024)} KiB of memory`);
}

async function borders(session) {
    print('\n4. What a command does not see');
    print('  the environment is the command\'s own:');
    await run(session, ['env'], {environment: ['GREETING=hello']});
    print('  the host\'s files are not there:');
    await run(session, ['ls', '/root', '/home', '/etc/shadow']);

    const server = new Gio.SocketListener();
    const port = server.add_any_inet_port(null);
    new Gio.SocketClient({enableProxy: false}).connect_to_host('127.0.0.1', port, null).close(null);
    print(`  there is no network; the server at port ${port}, which this program has just reached, is not there:`);
    await run(session, ['bash', '-c', `echo hello >/dev/tcp/127.0.0.1/${port}`]);
    server.close();
}

function read(path) {
    try {
        return new TextDecoder().decode(GLib.file_get_contents(path)[1]);
    } catch {
        return '';
    }
}

// The real uid of the process with this command line, as the host sees it.
function findUid(argv) {
    const processes = Gio.File.new_for_path('/proc').enumerate_children('standard::name', Gio.FileQueryInfoFlags.NONE, null);
    for (let info; (info = processes.next_file(null)) !== null;) {
        const process = `/proc/${info.get_name()}`;
        if (read(`${process}/cmdline`) === argv.map(word => `${word}\0`).join(''))
            return read(`${process}/status`).match(/^Uid:\t(\d+)/m)?.[1];
    }
    return null;
}

const uidOf = path => Gio.File.new_for_path(path).query_info('unix::uid', Gio.FileQueryInfoFlags.NONE, null).get_attribute_uint32('unix::uid');

async function identity(session, directory) {
    print('\n5. Who a command is, seen from both sides');
    await run(session, ['sh', '-c', 'id; touch made-inside; stat -c "%n belongs to uid %u" made-inside']);

    const argv = ['sleep', '4711.5'];
    const process = await session.spawn_async(new Sandbox.Command({argv}), null);
    print(`  outside: this program is uid ${uidOf('/proc/self')}, a command of its sandbox uid ${findUid(argv)}`);
    process.kill();
    await process.wait_async(null);
    print(`  outside: made-inside belongs to uid ${uidOf(`${directory}/made-inside`)}, as its directory does`);
}

async function streams(session) {
    print('\n6. Talking to a command while it runs');
    const command = new Sandbox.Command({argv: ['sh', '-c', 'while read word; do echo "you said $word"; done']});
    const process = await session.spawn_async(command, null);
    const answers = new Gio.DataInputStream({baseStream: process.get_stdout()});
    for (const word of ['word-1', 'word-2']) {
        await process.get_stdin().write_bytes_async(bytes(`${word}\n`), GLib.PRIORITY_DEFAULT, null);
        const [answer] = await answers.read_line_async(GLib.PRIORITY_DEFAULT, null);
        print(`  said ${word}, heard “${answer}”`);
    }
    await process.get_stdin().close_async(GLib.PRIORITY_DEFAULT, null);
    await process.wait_async(null);
    print(`  closed its input; it exited with ${process.get_result().get_exit_status()}`);
}

async function errors(session) {
    print('\n7. Errors have codes');
    await session.run_async(new Sandbox.Command({argv: ['no-such-program']}), null).catch(error => {
        if (error.matches(Sandbox.Error, Sandbox.Error.NOT_FOUND))
            print(`  NOT_FOUND: ${error.message}`);
    });
    await session.read_text_async('../outside', null).catch(error => {
        if (error.matches(Sandbox.Error, Sandbox.Error.PATH))
            print(`  PATH: ${error.message}`);
    });

    // A command that fails is no error by itself; who wants one asks for it.
    const result = await session.run_async(new Sandbox.Command({argv: ['false']}), null);
    try {
        result.check();
    } catch (error) {
        if (error.matches(Sandbox.Error, Sandbox.Error.FAILED))
            print(`  FAILED: ${error.message}`);
    }
}

async function together(session) {
    print('\n8. Several at once, with promises');
    const cancellable = new Gio.Cancellable();
    const started = GLib.get_monotonic_time();
    const naps = Array.from({length: 3}, () => session.run_async(new Sandbox.Command({argv: ['sleep', '0.5']}), null));
    const night = session.run_async(new Sandbox.Command({argv: ['sleep', '60']}), cancellable);
    GLib.timeout_add(GLib.PRIORITY_DEFAULT, 200, () => {
        cancellable.cancel();
        return GLib.SOURCE_REMOVE;
    });

    const [cancelled] = await Promise.allSettled([night, ...naps]);
    const succeeded = (await Promise.all(naps)).filter(result => result.check()).length;
    const ms = Math.round((GLib.get_monotonic_time() - started) / 1000);
    print(`  ${succeeded} commands that sleep 500 ms took ${ms} ms together`);
    print(`  the one that sleeps a minute, which has been cancelled: ${cancelled.reason.message}`);
}

async function stop(handle) {
    print('\n9. The end');
    const session = handle.get_session();
    const process = await session.spawn_async(new Sandbox.Command({argv: ['sleep', '60']}), null);
    await handle.stop_async(null);
    const dead = process.get_result().get_outcome() === Sandbox.Outcome.STOPPED;
    print(`  stopped; what still ran is dead: ${dead ? 'yes' : 'no'}`);
    await session.spawn_async(new Sandbox.Command({argv: ['true']}), null).catch(error => {
        if (error.matches(Sandbox.Error, Sandbox.Error.STOPPED))
            print(`  STOPPED: ${error.message}`);
    });
}

// The files stay: they are the host's.
function cleanUp(directory) {
    const folder = Gio.File.new_for_path(directory);
    const children = [...folder.enumerate_children('standard::name', Gio.FileQueryInfoFlags.NONE, null)];
    children.forEach(info => folder.get_child(info.get_name()).delete(null));
    folder.delete(null);
    print(`  the directory still had its ${children.length} files; they are removed now`);
}

try {
    print('How commands run and end, in JavaScript');
    const directory = GLib.Dir.make_tmp('sandbox-commands-XXXXXX');
    const handle = await create(directory);
    const session = handle.get_session();
    await files(session);
    await commands(session);
    await borders(session);
    await identity(session, directory);
    await streams(session);
    await errors(session);
    await together(session);
    await stop(handle);
    cleanUp(directory);
} catch (error) {
    printerr(`It ends here: ${error.message}`);
    System.exit(1);
}
