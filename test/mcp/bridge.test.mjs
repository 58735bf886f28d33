// The TypeScript clients over pws mcp, as hosts start it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { day, done, refused } from './day.mjs';
import { kinds, patience } from './kinds.mjs';
import {
  login, program, savedCredential, start, toolNames,
} from './service.mjs';

let service;
let folder;
let signedIn;
let nobody;
before(async () => {
  service = await start();
  folder = mkdtempSync(join(tmpdir(), 'pws-bridge-'));
  signedIn = { HOME: join(folder, 'home'), PWS_SERVER: service.url };
  nobody = { HOME: join(folder, 'nobody'), PWS_SERVER: service.url };
  await login(signedIn, 'bridge');
});
after(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function connected(kind, env, flags, work) {
  const { client, version } = await kind.stdio({
    command: program, args: ['mcp', ...flags], env, cwd: folder,
  });
  try {
    await work(client, version);
  } finally {
    await client.close();
  }
}

const all = ['--tools', 'all', '--names', 'dots'];

for (const kind of kinds) {
  describe(`${kind.name}, over pws mcp`, () => {
    test('connects and reads who is signed in', () => connected(
      kind, signedIn, [], (client, version) => {
        assert.equal(version, kind.version);
        assert.equal(client.getServerVersion().name, 'pws');
        assert.ok(client.getServerCapabilities().tools);
        assert.match(client.getInstructions(), /\nHere you are signed in as @bridge: /);
      },
    ));

    test('lists the tools', () => connected(kind, signedIn, all, async (client) => {
      const { tools, nextCursor } = await client.listTools(undefined, patience);
      assert.deepEqual(tools.map((tool) => tool.name).sort(), toolNames);
      assert.equal(nextCursor, undefined);
    }));

    test('lists the core without dots by default', () => connected(
      kind, nobody, [], async (client) => {
        const { tools } = await client.listTools(undefined, patience);
        const names = tools.map((tool) => tool.name);
        assert.ok(names.length >= 10 && names.length <= 16, names.join());
        assert.ok(names.every((name) => /^[a-z_]+$/.test(name)), names.join());
      },
    ));

    test('reads without a sign-in, and is refused a write', () => connected(
      kind, nobody, all, async (client) => {
        await client.listTools(undefined, patience);
        await done(client, 'search', { q: 'anything' });
        await refused(client, 'project.create', {
          name: 'Nobody', visibility: 'PRIVATE',
        }, 'AUTHENTICATION_REQUIRED');
      },
    ));

    test('works', () => connected(kind, signedIn, all, async (client) => {
      await day(client, service.url, savedCredential(signedIn), 1);
    }));

    test('names no tool that is not there', () => connected(kind, signedIn, [], async (client) => {
      await assert.rejects(
        client.callTool({ name: 'no.such.tool', arguments: {} }, undefined, patience),
        (error) => error.code === -32602,
      );
    }));

    test('has its tools although the server is down', () => connected(
      kind, { ...signedIn, PWS_SERVER: 'http://127.0.0.1:9' }, all, async (client) => {
        const { tools } = await client.listTools(undefined, patience);
        assert.equal(tools.length, toolNames.length);
      },
    ));
  });
}
