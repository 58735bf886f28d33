// The TypeScript clients as agents use them over HTTP: what they list, call, and are refused.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { day, refused } from './day.mjs';
import { kinds, patience } from './kinds.mjs';
import { register, start, toolNames } from './service.mjs';

let service;
before(async () => { service = await start(); });
after(async () => { await service?.stop(); });

async function connected(kind, credential, query, work) {
  const { client, version } = await kind.http(new URL(`${service.url}/mcp${query}`), credential);
  try {
    await work(client, version);
  } finally {
    await client.close();
  }
}

for (const kind of kinds) {
  describe(kind.name, () => {
    test('connects and reads the instructions', () => connected(kind, '', '', (client, version) => {
      assert.equal(version, kind.version);
      assert.ok(client.getServerVersion().name);
      assert.ok(client.getServerCapabilities().tools);
      const instructions = client.getInstructions();
      assert.ok(instructions.length > 200 && instructions.length <= 1500, instructions);
    }));

    test('lists the tools', () => connected(kind, '', '', async (client) => {
      const { tools, nextCursor } = await client.listTools(undefined, patience);
      assert.deepEqual(tools.map((tool) => tool.name).sort(), toolNames);
      assert.equal(nextCursor, undefined);
      for (const tool of tools) {
        assert.ok(tool.title && tool.description && tool.outputSchema, tool.name);
        assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
      }
    }));

    test('lists names without dots, and the core', () => connected(
      kind, '', '?names=underscore&profile=core', async (client) => {
        const { tools } = await client.listTools(undefined, patience);
        const names = tools.map((tool) => tool.name);
        assert.ok(names.length >= 10 && names.length <= 16, names.join());
        assert.ok(names.includes('file_read') && names.includes('search'), names.join());
        assert.ok(names.every((name) => /^[a-z_]+$/.test(name)), names.join());
      },
    ));

    test('is refused without a session', () => connected(kind, '', '', async (client) => {
      await client.listTools(undefined, patience);
      await refused(client, 'project.create', {
        name: 'Nobody', visibility: 'PRIVATE', idempotency_key: 'nobody',
      }, 'AUTHENTICATION_REQUIRED');
    }));

    test('learns that a session is over', async () => {
      await assert.rejects(connected(kind, 'no-such-credential', '', async (client) => {
        await client.callTool({ name: 'inbox.read', arguments: {} }, undefined, patience);
      }), (error) => /401|UNAUTHORIZED|SESSION/i.test(`${error.code} ${error.message}`));
    });

    test('works', async () => {
      const credential = await register(service.url);
      await connected(kind, credential, '', (client) => day(client, service.url, credential));
    });

    test('names no tool that is not there', () => connected(kind, '', '', async (client) => {
      await assert.rejects(
        client.callTool({ name: 'no.such.tool', arguments: {} }, undefined, patience),
        (error) => error.code === -32602,
      );
    }));
  });
}
