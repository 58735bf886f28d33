// The protocol's conformance suite, scenario by scenario. Each one either runs here or is named with
// the reason why a server with nothing but tools has no answer to it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startFront } from './front.mjs';
import { login, start } from './service.mjs';

const suite = fileURLToPath(new URL(
  'node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url,
));
const shim = new URL('node20.mjs', import.meta.url).href;

const scenarios = {
  '2026-07-28': [
    'server-stateless', 'tools-list', 'caching', 'http-header-validation',
    'server-sse-multiple-streams', 'dns-rebinding-protection',
  ],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
};

// bridged are the scenarios that are run over pws mcp too; the others are about HTTP.
const bridged = {
  '2026-07-28': ['server-stateless', 'tools-list', 'caching'],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list'],
};

const noDiagnostics = 'calls a diagnostic tool of the suite by its name';
const noResources = 'there are no resources';
const noPrompts = 'there are no prompts';
const noInput = 'no tool asks the client for anything';
const noHeaders = 'there are no headers, so _meta alone says what version a request has';
const noTasks = 'no tool runs as a task of the protocol: an answer says what is durable';
const noSessions = 'there are no sessions of the protocol, nor streams of it';

// notApplicable are the scenarios that are not run, by the beginnings of their names.
const notApplicable = {
  completion: 'there are no completions',
  elicitation: noInput,
  'http-custom-header': 'no argument is declared as a header of its own',
  'input-required': noInput,
  'json-schema-2020-12': noDiagnostics,
  logging: 'nothing is logged to clients',
  prompts: noPrompts,
  resources: noResources,
  'sep-2164-resource': noResources,
  'sep-2640-skills': 'there are no skills',
  'server-session-lifecycle': noSessions,
  'server-sse-multiple-streams@2025-11-25': noSessions,
  'server-sse-polling': noSessions,
  tasks: noTasks,
  'tools-call': noDiagnostics,
};

// excused are the checks of scenarios that are run which need what is not there. They are expected
// to fail, and to say so.
const excused = {
  'server-stateless': {
    'sep-2575-server-rejects-undeclared-capability': [noDiagnostics, /^Not testable/],
    'sep-2575-missing-capability-http-400': [noDiagnostics, /^Not testable/],
    'sep-2575-http-server-no-independent-requests-on-stream': [noDiagnostics, /^Not testable/],
    'sep-2575-server-no-log-without-loglevel': [noDiagnostics, /^Not testable/],
  },
  caching: {
    'sep-2549-prompts-list-caching-hints': [noPrompts, /-32601/],
    'sep-2549-resources-list-caching-hints': [noResources, /-32601/],
    'sep-2549-resources-templates-list-caching-hints': [noResources, /-32601/],
  },
};

let service;
let front;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pws-conformance-'));
  service = await start();
  const env = { HOME: join(folder, 'home'), PWS_SERVER: service.url };
  await login(env, 'conformance');
  front = await startFront(env);
});
after(async () => {
  await front?.stop();
  rmSync(folder, { recursive: true, force: true });
  await service?.stop();
});

// run starts the suite and returns what it wrote to its standard output.
async function run(args) {
  const child = spawn(process.execPath, ['--import', shim, suite, ...args], { cwd: folder });
  let out = '';
  let log = '';
  child.stdout.on('data', (part) => { out += part; });
  child.stderr.on('data', (part) => { log += part; });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { out, log, code };
}

// checksOf runs one scenario and returns its checks.
async function checksOf(place, scenario, version) {
  const into = join(folder, `${place.name}-${scenario}-${version}`);
  const { out, log } = await run([
    'server', '--url', `${place.url()}/mcp`, '--scenario', scenario, '--spec-version', version,
    '--output-dir', into, '--timeout', '120000',
  ]);
  const written = readdirSync(into, { recursive: true })
    .filter((name) => name.endsWith('checks.json'));
  assert.equal(written.length, 1, `${out}\n${log}`);
  return JSON.parse(readFileSync(join(into, written[0]), 'utf8'));
}

const good = ['SUCCESS', 'INFO', 'SKIPPED'];

// places are what is judged: the server, and the bridge to it.
const places = [
  { name: 'endpoint', url: () => service.url, scenarios },
  {
    name: 'pws-mcp',
    url: () => front.url,
    scenarios: bridged,
    excused: {
      'server-stateless': {
        'sep-2575-http-server-meta-invalid-400': [noHeaders, /^Expected HTTP 400/],
        'sep-2575-http-server-header-mismatch-400': [noHeaders, /^Expected HTTP 400/],
      },
    },
  },
];

for (const place of places) {
  for (const [version, names] of Object.entries(place.scenarios)) {
    describe(`${place.name}, ${version}`, () => {
      for (const scenario of names) {
        test(scenario, async (t) => judge(t, place, scenario, version));
      }
    });
  }
}

async function judge(t, place, scenario, version) {
  const checks = await checksOf(place, scenario, version);
  const open = { ...excused[scenario], ...place.excused?.[scenario] };
  for (const { id, status, errorMessage } of checks) {
    const excuse = open[id];
    if (excuse && status === 'FAILURE' && excuse[1].test(errorMessage)) {
      t.diagnostic(`not applicable: ${id}: ${excuse[0]}`);
      delete open[id];
      continue;
    }
    assert.ok(good.includes(status), `${id}: ${status}: ${errorMessage}`);
  }
  assert.deepEqual(Object.keys(open), [], 'these checks are excused and did not fail');
  assert.ok(checks.some(({ status }) => status === 'SUCCESS'), 'nothing was checked');
}

test('every scenario is run or has a reason', async () => {
  const { out } = await run(['list', '--server']);
  const listed = [...out.matchAll(/^ +- (\S+) \[(.*)\]$/gm)];
  assert.ok(listed.length > 50, out);
  const reasons = new Set(Object.keys(notApplicable));
  for (const [, scenario, applies] of listed) {
    const versions = applies === 'extension' ? ['extension'] : applies.split(',');
    for (const version of versions.filter((one) => scenarios[one] || one === 'extension')) {
      if (scenarios[version]?.includes(scenario)) continue;
      const found = Object.keys(notApplicable)
        .filter((start) => `${scenario}@${version}`.startsWith(start));
      assert.ok(found.length > 0, `${scenario} at ${version} is neither run nor excused`);
      found.forEach((start) => reasons.delete(start));
    }
  }
  assert.deepEqual([...reasons], [], 'these reasons excuse nothing');
});
