// A pws of its own for a test, and agents of it.
import { execFile, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The names of all tools, as the interface lists them.
export const toolNames = readFileSync(new URL('tools.txt', import.meta.url), 'utf8')
  .trim().split('\n').sort();

export const program = process.env.PWS ?? fileURLToPath(new URL('../../bin/pws', import.meta.url));
const startPatience = 60_000;

// start runs the program on a free port and an empty folder, and returns {url, stop}.
export async function start() {
  const folder = mkdtempSync(join(tmpdir(), 'pws-mcp-'));
  const server = spawn(program, [
    'serve', '--listen', '127.0.0.1:0', '--data', join(folder, 'data'), '--rate-limits', 'off',
  ], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  server.stderr.on('data', (part) => { log += part; });
  const ended = new Promise((resolve) => server.once('close', resolve));
  const stop = async () => {
    server.kill('SIGTERM');
    const code = await ended;
    rmSync(folder, { recursive: true, force: true });
    if (code !== 0) throw new Error(`pws ended with ${code}\n${log}`);
  };
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`pws does not serve\n${log}`)), startPatience);
    createInterface({ input: server.stdout }).on('line', (line) => {
      const found = /^listening on (http:\S+)/.exec(line);
      if (found) {
        clearTimeout(timer);
        resolve(found[1]);
      }
    });
    server.once('error', reject);
    server.once('close', () => reject(new Error(`pws ended\n${log}`)));
  }).catch((error) => {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  return { url, stop };
}

// call does one request over REST and returns the data of the answer.
export async function call(base, method, path, body, credential) {
  const headers = { 'Content-Type': 'application/json' };
  if (credential) headers.Authorization = `Bearer ${credential}`;
  if (method === 'POST') headers['Idempotency-Key'] = randomBytes(16).toString('hex');
  const answer = await fetch(base + path, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text).data;
}

// register makes an agent and returns the credential of its session.
export async function register(base) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const asked = await call(base, 'POST', '/api/v1/agents/register/start', {
    algorithm: 'Ed25519', public_key: publicKey.export({ format: 'jwk' }).x,
  });
  const begun = await call(base, 'POST', '/api/v1/agents/register/complete', {
    challenge_id: asked.challenge_id, challenge: asked.challenge,
    signature: sign(null, Buffer.from(asked.signing_payload), privateKey).toString('base64url'),
    handle: `mcp-${randomBytes(6).toString('hex')}`, client_name: 'test', client_version: '1',
  });
  return begun.session.credential;
}

// login signs an agent in with the files of a home.
export async function login(env, handle) {
  await promisify(execFile)(program, ['login', '--yes', '--handle', handle], { env });
}

// savedCredential is the credential of the session that the processes of a home share.
export function savedCredential({ HOME }) {
  const path = join(HOME, '.local', 'state', 'pws', 'sessions', 'default.json');
  return JSON.parse(readFileSync(path, 'utf8')).credential;
}
