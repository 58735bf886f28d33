// The TypeScript clients as agents use them: what they list, call, and are refused.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as modern from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { call, register, start, toolNames } from './service.mjs';

const about = { name: 'pws-test', version: '1' };
const patience = { timeout: 60_000 };

const headersOf = (credential) => (
  { requestInit: { headers: credential ? { Authorization: `Bearer ${credential}` } : {} } }
);

// clients are what each client needs to connect, and the version that it has to end up with.
const clients = [
  {
    name: 'client 2.4, pinned',
    version: '2026-07-28',
    async connect(url, credential) {
      const client = new modern.Client(about, {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
      });
      const transport = new modern.StreamableHTTPClientTransport(url, headersOf(credential));
      await client.connect(transport, patience);
      return { client, version: client.getNegotiatedProtocolVersion() };
    },
  },
  {
    name: 'client 2.4, probing',
    version: '2026-07-28',
    async connect(url, credential) {
      const client = new modern.Client(about, { versionNegotiation: { mode: 'auto' } });
      const transport = new modern.StreamableHTTPClientTransport(url, headersOf(credential));
      await client.connect(transport, patience);
      return { client, version: client.getNegotiatedProtocolVersion() };
    },
  },
  {
    name: 'client 2.4, by default',
    version: '2025-11-25',
    async connect(url, credential) {
      const client = new modern.Client(about);
      const transport = new modern.StreamableHTTPClientTransport(url, headersOf(credential));
      await client.connect(transport, patience);
      return { client, version: client.getNegotiatedProtocolVersion() };
    },
  },
  {
    name: 'sdk 1.32',
    version: '2025-11-25',
    async connect(url, credential) {
      const client = new Client(about);
      const transport = new StreamableHTTPClientTransport(url, headersOf(credential));
      await client.connect(transport, patience);
      return { client, version: transport.protocolVersion };
    },
  },
];

let service;
before(async () => { service = await start(); });
after(async () => { await service?.stop(); });

const endpoint = (query = '') => new URL(`${service.url}/mcp${query}`);

async function connected(kind, credential, query, work) {
  const { client, version } = await kind.connect(endpoint(query), credential);
  try {
    await work(client, version);
  } finally {
    await client.close();
  }
}

// done calls a tool and returns what it answers.
async function done(client, name, args) {
  const result = await client.callTool({ name, arguments: args }, undefined, patience);
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  // A second text marks a replay, and is there with its mark alone.
  const replayed = result._meta?.['pws/replay'] !== undefined;
  assert.equal(result.content.length, replayed ? 2 : 1);
  assert.equal(result.content[0].type, 'text');
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

// refused calls a tool and expects a refusal of this code.
async function refused(client, name, args, code) {
  const result = await client.callTool({ name, arguments: args }, undefined, patience);
  assert.equal(result.isError, true, `${name} was not refused`);
  assert.equal(JSON.parse(result.content[0].text).code, code);
}

for (const kind of clients) {
  describe(kind.name, () => {
    test('connects and reads what it is told', () => connected(kind, '', '', (client, version) => {
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

    test('is told that a session is over', async () => {
      await assert.rejects(connected(kind, 'no-such-credential', '', async (client) => {
        await client.callTool({ name: 'inbox.read', arguments: {} }, undefined, patience);
      }), (error) => /401|UNAUTHORIZED|SESSION/i.test(`${error.code} ${error.message}`));
    });

    test('works', async () => {
      const credential = await register(service.url);
      await connected(kind, credential, '', (client) => day(client, credential));
    });

    test('names no tool that is not there', () => connected(kind, '', '', async (client) => {
      await assert.rejects(
        client.callTool({ name: 'no.such.tool', arguments: {} }, undefined, patience),
        (error) => error.code === -32602,
      );
    }));
  });
}

// day is what an agent does with the tools. The lists come first, for the clients check answers
// against the schemas that they have seen.
async function day(client, credential) {
  await client.listTools(undefined, patience);
  const key = `day-${Math.random()}`;
  const wanted = { name: 'A day', visibility: 'PRIVATE', idempotency_key: key };
  const created = await done(client, 'project.create', wanted);
  assert.equal(created.project.name, undefined);
  const whole = await done(client, 'project.create', { ...wanted, verbose: true });
  assert.equal(whole.project.name, wanted.name);
  const again = await done(client, 'project_create', wanted);
  assert.equal(again.project.id, created.project.id);
  const project = created.project.id;

  const text = '# Plan\n\n"quotes", tabs\t, ünïcödé 🚀 and \u2028 lines\n';
  await done(client, 'file.write', { project, path: 'docs/a b/ü%2F.md', content: text });
  const read = await done(client, 'file.read', { project, path: 'docs/a b/ü%2F.md' });
  assert.equal(read.file.content, text);
  await refused(client, 'file.read', { project, path: 'missing.md' }, 'FILE_NOT_FOUND');
  await refused(client, 'file.read', { project }, 'VALIDATION_FAILED');
  await refused(client, 'file.read', { project, path: 'a', depth: 1 }, 'VALIDATION_FAILED');

  const { task } = await call(
    service.url, 'POST', `/api/v1/projects/${project}/tasks`, { title: 'Think' }, credential,
  );
  const open = await done(client, 'task.list', { project, limit: 5 });
  assert.deepEqual(open.tasks.map((one) => one.id), [task.id]);
  const claimed = await done(client, 'task.claim', { task: task.id });
  assert.equal(claimed.task.id, task.id);
  await refused(client, 'task.claim', { task: task.id }, 'TASK_ALREADY_CLAIMED');
  const resumed = await done(client, 'project.resume', { project });
  assert.ok(resumed.resume);
}
