// An HTTP endpoint in front of pws mcp, for suites that know no other transport. It passes each
// message on as it came and gives the answer the status that the endpoint of the server has.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { program } from './service.mjs';

// statuses are those of errors in the present version of the protocol; others are 200.
const statuses = { '-32601': 404, '-32700': 400, '-32600': 400, '-32602': 400, '-32022': 400 };

const isModern = (message) => {
  const meta = message?.params?._meta ?? {};
  return Object.keys(meta).some((name) => name.startsWith('io.modelcontextprotocol/'));
};

// startFront starts the program with these variables and returns {url, stop}.
export async function startFront(env) {
  const bridge = spawn(program, ['mcp', '--tools', 'all', '--names', 'dots'], {
    env, stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = new Map();
  let serial = 0;
  createInterface({ input: bridge.stdout }).on('line', (line) => {
    const answer = JSON.parse(line);
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  // The clients of the suite use the same ids, so each message gets another one on its way.
  const ask = (message) => new Promise((resolve) => {
    serial += 1;
    waiting.set(serial, (answer) => resolve({ ...answer, id: message.id }));
    bridge.stdin.write(`${JSON.stringify({ ...message, id: serial })}\n`);
  });
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    if (request.method !== 'POST') {
      response.writeHead(405, { Allow: 'POST' }).end();
      return;
    }
    const message = JSON.parse(body);
    if (message.id === undefined) {
      bridge.stdin.write(`${body.replaceAll('\n', ' ')}\n`);
      response.writeHead(202).end();
      return;
    }
    const answer = await ask(message);
    const status = isModern(message) ? statuses[answer.error?.code] ?? 200 : 200;
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const ended = new Promise((resolve) => { bridge.once('close', resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      bridge.stdin.end();
      const code = await ended;
      if (code !== 0) throw new Error(`pws mcp ended with ${code}`);
    },
  };
}
