// The real Claude Code, Codex and Gemini CLI, after pws setup: they list the server, start it, call
// a tool of it, and their sessions begin, go on and end with its hooks. No account is needed: a
// stand-in takes the place of the model, so that what a session sends to it is seen. What is not
// reached: the hooks before a context is shortened; the questions that hosts ask their users, which
// flags and variables answer here (Codex: trust of hooks, Gemini CLI: trust of the folder, Claude
// Code and Gemini CLI: use of the tool).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { start as startService } from '../mcp/service.mjs';
import { start as startProvider } from './provider.mjs';

const program = process.env.PWS ?? fileURLToPath(new URL('../../bin/pws', import.meta.url));
const installed = fileURLToPath(new URL('node_modules/.bin', import.meta.url));
const patience = 120_000;
const title = 'Plant the hundredth tree';

// run ends a command that takes too long, and returns its output and exit code.
function run(place, command, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: place.project, env: place.env, stdio: ['ignore', 'pipe', 'pipe'], timeout: patience,
    });
    let output = '';
    child.stdout.on('data', (part) => { output += part; });
    child.stderr.on('data', (part) => { output += part; });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

async function must(place, command, ...args) {
  const { code, output } = await run(place, command, ...args);
  assert.equal(code, 0, `${command} ${args.join(' ')}: ${output}`);
  return output;
}

// inPlace calls use with a home of its own, a project with a task, and a provider. While a session
// runs, a file of the project changes.
async function inPlace(use) {
  const folder = mkdtempSync(join(tmpdir(), 'pws-hosts-'));
  const project = join(folder, 'project');
  mkdirSync(project);
  const service = await startService();
  const provider = await startProvider(() => writeFileSync(join(project, 'tree.txt'), title));
  const env = {
    HOME: folder,
    PATH: [dirname(program), installed, dirname(process.execPath), process.env.PATH]
      .join(delimiter),
    ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
    ENABLE_TOOL_SEARCH: 'false',
    GOOGLE_GEMINI_BASE_URL: provider.url, GEMINI_API_KEY: 'none', PROVIDER_KEY: 'none',
    GEMINI_CLI_TRUST_WORKSPACE: 'true', NO_COLOR: '1', CI: '1',
  };
  const place = { folder, project, env, provider };
  try {
    await must(place, 'git', 'init', '-q', '-b', 'main');
    await must(place, 'pws', 'login', service.url, '--handle', 'ada');
    await must(place, 'pws', 'init', '--name', 'Forest');
    await must(place, 'pws', 'task', 'create', title);
    await claimDue(place);
    await use(place);
  } finally {
    provider.stop();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

// seen asserts that a model would have seen the state of the project, and what the tool returned.
function seen(place, output) {
  const all = place.provider.requests.map((request) => request.body);
  assert.ok(all.length > 1, `nothing was sent: ${output}`);
  const first = all.find((body) => body.includes('(kept by pws)'));
  assert.ok(first, `no session began with the state: ${output}`);
  assert.match(first, /Plant the hundredth tree/);
  assert.match(first, /this session acts as @ada/);
  const last = all.at(-1);
  assert.match(last, /tool_result|function_call_output|functionResponse/, output);
  assert.match(last, /handle\W+ada/);
}

// left asserts that the session has left a handoff about the changed file.
async function left(place) {
  const handoffs = await must(place, 'pws', 'handoff', 'list', '--json');
  assert.match(handoffs, /A session ended[^"]*Not committed: tree\.txt/);
}

// claimDue claims the task, and makes its renewal due. began asserts that a hook has begun to renew
// it, beaten that it has done so. Claude Code does not wait for this hook, and ends it with the
// session.
async function claimDue(place) {
  await must(place, 'pws', 'task', 'next');
  const path = join(place.project, '.pws', 'local', 'claims.json');
  const due = readFileSync(path, 'utf8').replace(/"renew_at": "\d{4}/, '"renew_at": "2001');
  writeFileSync(path, due);
}

function began(place) {
  const claims = readFileSync(join(place.project, '.pws', 'local', 'claims.json'), 'utf8');
  assert.match(claims, /"beat_at"/);
  return claims;
}

function beaten(place) {
  assert.doesNotMatch(began(place), /"renew_at": "2001/);
}

async function setUp(place, host) {
  await must(place, 'pws', 'setup', host);
  const again = await must(place, 'pws', 'setup', host);
  assert.equal(again.match(/: present/g)?.length, 2, again);
  await must(place, 'pws', 'setup', host, '--check');
}

test('Claude Code', () => inPlace(async (place) => {
  await setUp(place, 'claude');
  assert.match(await must(place, 'claude', 'mcp', 'list'), /pws: pws mcp - .*Connected/);
  const output = await must(place, 'claude', '-p', 'What is next?',
    '--allowedTools', 'mcp__pws__agent_me');
  seen(place, output);
  began(place);
  await left(place);
  await must(place, 'pws', 'setup', 'claude', '--remove');
  assert.doesNotMatch(await must(place, 'claude', 'mcp', 'list'), /pws/);
}));

test('Codex', () => inPlace(async (place) => {
  const config = 'model = "stand-in"\nmodel_provider = "stand-in"\n\n' +
    '[model_providers.stand-in]\nname = "stand-in"\nenv_key = "PROVIDER_KEY"\n' +
    `base_url = "${place.provider.url}/v1"\nwire_api = "responses"\n`;
  mkdirSync(join(place.folder, '.codex'));
  writeFileSync(join(place.folder, '.codex', 'config.toml'), config);
  await setUp(place, 'codex');
  assert.match(await must(place, 'codex', 'mcp', 'list'), /^pws +pws +mcp .*enabled/m);
  const output = await must(place, 'codex', 'exec', '--dangerously-bypass-hook-trust',
    '--skip-git-repo-check', 'What is next?');
  seen(place, output);
  beaten(place);
  await left(place);
  await must(place, 'pws', 'setup', 'codex', '--remove');
  const after = readFileSync(join(place.folder, '.codex', 'config.toml'), 'utf8');
  assert.doesNotMatch(after, /mcp_servers/);
}));

test('Gemini CLI', () => inPlace(async (place) => {
  mkdirSync(join(place.folder, '.gemini'));
  writeFileSync(join(place.folder, '.gemini', 'settings.json'),
    '{\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n');
  await setUp(place, 'gemini');
  assert.match(await must(place, 'gemini', 'mcp', 'list'), /pws: pws mcp \(stdio\) - Connected/);
  const output = await must(place, 'gemini', '--approval-mode', 'yolo', '-m',
    'gemini-2.5-flash', '-p', 'What is next?');
  seen(place, output);
  beaten(place);
  await left(place);
  await must(place, 'pws', 'setup', 'gemini', '--remove');
  assert.doesNotMatch(await must(place, 'gemini', 'mcp', 'list'), /pws mcp/);
}));
