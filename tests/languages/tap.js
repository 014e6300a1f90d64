// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests of promises, printed as TAP: test (name, async () => …) and at the end await run ().

import GLib from 'gi://GLib';
import System from 'system';

const tests = [];

export function test(name, body) {
    tests.push([name, body]);
}

export function equal(actual, expected) {
    const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (a !== e)
        throw new Error(`${a} is not ${e}`);
}

export function ok(value, what = 'it') {
    if (!value)
        throw new Error(`${what} is ${value}`);
}

// What a promise or a function is refused with; the domain may be Gio.IOErrorEnum too.
export async function refused(domain, code, body) {
    let error = null;
    try {
        await body();
    } catch (caught) {
        error = caught;
    }
    ok(error !== null, 'the error');
    if (!(error instanceof GLib.Error) || !error.matches(domain, code))
        throw error;
    ok(error.message.length > 0, 'the message');
    return error;
}

export function sleep(ms) {
    return new Promise(resolve => GLib.timeout_add(GLib.PRIORITY_DEFAULT, ms, () => {
        resolve();
        return GLib.SOURCE_REMOVE;
    }));
}

export async function until(predicate) {
    const end = GLib.get_monotonic_time() + 30 * 1000000;
    while (!predicate()) {
        ok(GLib.get_monotonic_time() < end, 'what was waited for');
        await sleep(1);
    }
}

export async function run() {
    let failed = 0;
    print(`1..${tests.length}`);
    for (const [index, [name, body]] of tests.entries()) {
        let fault = null;
        // Whatever a test waits for, it is not for ever.
        const limit = sleep(60000).then(() => {
            throw new Error('took too long');
        });
        try {
            await Promise.race([body(), limit]);
        } catch (error) {
            fault = error;
            failed++;
            for (const line of `${error}\n${error.stack ?? ''}`.trimEnd().split('\n'))
                print(`# ${line}`);
        }
        limit.catch(() => {});
        print(`${fault === null ? 'ok' : 'not ok'} ${index + 1} /${name}`);
    }
    System.exit(failed > 0 || tests.length === 0 ? 1 : 0);
}
