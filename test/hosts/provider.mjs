// A stand-in for the providers of models. It calls one tool, once in a session, answers all else
// with a word, and keeps what hosts have sent: a model would have seen that.
import { createServer } from 'node:http';

const word = 'Understood';

// The tool that it calls, as the hosts name it.
const server = 'pws';
const tool = 'agent_me';
const called = { claude: `mcp__${server}__${tool}`, gemini: `mcp_${server}_${tool}` };

// start serves on a free port and returns {url, requests, stop}. onRequest is called with each
// request for an answer of a model.
export async function start(onRequest = () => {}) {
  const requests = [];
  const listener = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part) => { body += part; });
    request.on('end', () => {
      const path = new URL(request.url, 'http://localhost').pathname;
      const answer = answers.find(([pattern]) => pattern.test(path))?.[1];
      if (!answer) {
        response.writeHead(404, { 'Content-Type': 'application/json' }).end('{}');
        return;
      }
      if (answer !== counted) {
        requests.push({ path, body });
        onRequest();
      }
      answer(response, body);
    });
  });
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${listener.address().port}`,
    requests,
    stop: () => { listener.closeAllConnections(); listener.close(); },
  };
}

function stream(response, events) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const [name, data] of events) {
    response.write(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}

function json(response, data) {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(data));
}

// calls reports whether a request is one to answer with a call: it has the tool, and no result yet.
function calls(body, name, result) {
  return body.includes(`"${name}"`) && !body.includes(`"${result}"`);
}

function messages(response, body) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const calling = calls(body, called.claude, 'tool_result');
  const content = calling ? { type: 'tool_use', id: 'toolu_1', name: called.claude, input: {} } :
    { type: 'text', text: word };
  const stop = calling ? 'tool_use' : 'end_turn';
  const message = {
    id: 'msg_1', type: 'message', role: 'assistant', model: 'stand-in', content: [],
    stop_reason: null, stop_sequence: null, usage,
  };
  if (!JSON.parse(body).stream) {
    json(response, { ...message, content: [content], stop_reason: stop });
    return;
  }
  const delta = calling ? { type: 'input_json_delta', partial_json: '{}' } :
    { type: 'text_delta', text: word };
  const empty = calling ? content : { type: 'text', text: '' };
  stream(response, [
    ['message_start', { type: 'message_start', message }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: empty }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason: stop }, usage }],
    ['message_stop', { type: 'message_stop' }],
  ]);
}

function responses(response, body) {
  const text = {
    type: 'message', id: 'msg_1', role: 'assistant', status: 'completed',
    content: [{ type: 'output_text', text: word, annotations: [] }],
  };
  const call = {
    type: 'function_call', id: 'fc_1', call_id: 'call_1', namespace: `mcp__${server}`, name: tool,
    arguments: '{}', status: 'completed',
  };
  const item = calls(body, tool, 'function_call_output') ? call : text;
  const made = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  stream(response, [
    ['response.created', { type: 'response.created', response: made }],
    ['response.output_item.added', { type: 'response.output_item.added', output_index: 0, item }],
    ['response.output_item.done', { type: 'response.output_item.done', output_index: 0, item }],
    ['response.completed', {
      type: 'response.completed', response: { ...made, status: 'completed', output: [item], usage },
    }],
  ]);
}

function generated(body) {
  const part = calls(body, called.gemini, 'functionResponse') ?
    { functionCall: { name: called.gemini, args: {} } } : { text: word };
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}

function counted(response) { json(response, { input_tokens: 1, totalTokens: 1 }); }

const answers = [
  [/count_?tokens/i, counted],
  [/\/messages$/, messages],
  [/\/responses$/, responses],
  [/:streamGenerateContent$/, (response, body) => stream(response, [['', generated(body)]])],
  [/:generateContent$/, (response, body) => json(response, generated(body))],
];
