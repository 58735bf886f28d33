// What an agent does with the tools, over any transport.
import assert from 'node:assert/strict';
import { patience } from './kinds.mjs';
import { call } from './service.mjs';

// done calls a tool and returns what it answers.
export async function done(client, name, args, notes = 0) {
  const result = await client.callTool({ name, arguments: args }, undefined, patience);
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  // A second text marks a replay, and is there with its mark alone. The bridge adds notes.
  const replayed = result._meta?.['pws/replay'] !== undefined;
  assert.equal(result.content.length, (replayed ? 2 : 1) + notes);
  assert.equal(result.content[0].type, 'text');
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

// refused calls a tool and expects a refusal of this code.
export async function refused(client, name, args, code) {
  const result = await client.callTool({ name, arguments: args }, undefined, patience);
  assert.equal(result.isError, true, `${name} was not refused`);
  assert.equal(JSON.parse(result.content[0].text).code, code);
}

// day is what an agent does with the tools. The lists come first, for the clients check answers
// against the schemas that they have seen.
export async function day(client, base, credential, claimNotes = 0) {
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
    base, 'POST', `/api/v1/projects/${project}/tasks`, { title: 'Think' }, credential,
  );
  const open = await done(client, 'task.list', { project, limit: 5 });
  assert.deepEqual(open.tasks.map((one) => one.id), [task.id]);
  const claimed = await done(client, 'task.claim', { task: task.id }, claimNotes);
  assert.equal(claimed.task.id, task.id);
  await refused(client, 'task.claim', { task: task.id }, 'TASK_ALREADY_CLAIMED');
  const resumed = await done(client, 'project.resume', { project });
  assert.ok(resumed.resume);
}
