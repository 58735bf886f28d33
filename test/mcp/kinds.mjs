// The TypeScript clients: how each connects to a URL, or to a process that it starts.
import * as modern from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const about = { name: 'pws-test', version: '1' };
export const patience = { timeout: 60_000 };

const headersOf = (credential) => (
  { requestInit: { headers: credential ? { Authorization: `Bearer ${credential}` } : {} } }
);

// modernKind is the client 2.4 with these options.
const modernKind = (name, version, options) => {
  const connect = async (transport) => {
    const client = new modern.Client(about, options);
    await client.connect(transport, patience);
    return { client, version: client.getNegotiatedProtocolVersion() };
  };
  return {
    name,
    version,
    http: (url, credential) => connect(
      new modern.StreamableHTTPClientTransport(url, headersOf(credential)),
    ),
    stdio: (process) => connect(new ModernStdio(process)),
  };
};

// kinds are the clients, with the version of the protocol that each has to end up with.
export const kinds = [
  modernKind('client 2.4, pinned', '2026-07-28', {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  }),
  modernKind('client 2.4, probing', '2026-07-28', { versionNegotiation: { mode: 'auto' } }),
  modernKind('client 2.4, by default', '2025-11-25', {}),
  {
    name: 'sdk 1.32',
    version: '2025-11-25',
    async http(url, credential) {
      const client = new Client(about);
      const transport = new StreamableHTTPClientTransport(url, headersOf(credential));
      await client.connect(transport, patience);
      return { client, version: transport.protocolVersion };
    },
    async stdio(process) {
      const client = new Client(about);
      const transport = new StdioClientTransport(process);
      let version;
      transport.setProtocolVersion = (negotiated) => { version = negotiated; };
      await client.connect(transport, patience);
      return { client, version };
    },
  },
];
