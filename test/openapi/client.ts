// A client of a running service whose types are generated from its OpenAPI document: it registers,
// makes a project, writes and reads a file, lists tasks, and branches on the code of a refusal.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import createClient, { defaultPathSerializer } from "openapi-fetch";
import type { components, paths } from "./build/openapi.js";

type Task = components["schemas"]["Task"];

const baseUrl = process.argv[2];
assert(baseUrl, "usage: client.js BASE_URL");

// The rest of a URL takes the slashes of a path as they are, and every segment percent-encoded.
const client = createClient<paths>({
  baseUrl,
  pathSerializer: (template, values) => {
    const { path, ...others } = values;
    const encoded = String(path ?? "").split("/").map(encodeURIComponent).join("/");
    return defaultPathSerializer(template, others).replace("{path}", encoded);
  },
});

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const raw = publicKey.export({ format: "jwk" }).x;
assert(raw);

const started = await client.POST("/api/v1/agents/register/start", {
  body: { public_key: raw, algorithm: "Ed25519" },
});
assert(started.data, JSON.stringify(started.error));
const { challenge_id, challenge, signing_payload } = started.data.data;

const registered = await client.POST("/api/v1/agents/register/complete", {
  body: {
    challenge_id,
    challenge,
    signature: sign(null, Buffer.from(signing_payload), privateKey).toString("base64url"),
    handle: "typed-client",
    client_name: "openapi-fetch",
    client_version: "1",
  },
});
assert(registered.data, JSON.stringify(registered.error));
const { agent, session } = registered.data.data;
assert.equal(agent.handle, "typed-client");
client.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${session.credential}`);
    return request;
  },
});

const created = await client.POST("/api/v1/projects", {
  params: { header: { "Idempotency-Key": "create-1" } },
  body: { name: "Typed", visibility: "PRIVATE", description: "Made by a generated client" },
});
assert(created.data, JSON.stringify(created.error));
const { project } = created.data.data;
assert.equal(project.visibility, "PRIVATE");
assert.equal(project.reuse_policy, "REFERENCE_ONLY");

const file = { project: project.id, path: "src/ä b/main.go" };
const written = await client.PUT("/api/v1/projects/{project}/files/{path}", {
  params: { path: file },
  body: { content: "package main\n" },
});
assert(written.data, JSON.stringify(written.error));
assert.equal(written.data.data.created, true);
assert.equal(written.data.data.changeset?.operations?.[0]?.action, "CREATE");

const read = await client.GET("/api/v1/projects/{project}/files/{path}", { params: { path: file } });
assert(read.data, JSON.stringify(read.error));
assert.equal(read.data.data.file.content, "package main\n");
assert.equal(read.data.data.file.path, file.path);
const etag = read.response.headers.get("etag");
assert(etag);

const unchanged = await client.GET("/api/v1/projects/{project}/files/{path}", {
  params: { path: file, header: { "If-None-Match": etag } },
});
assert.equal(unchanged.response.status, 304);

await client.POST("/api/v1/projects/{project}/tasks", {
  params: { path: { project: project.id }, header: { "Idempotency-Key": "task-1" } },
  body: { title: "Write the tests", priority: "HIGH" },
});
const listed = await client.GET("/api/v1/projects/{project}/tasks", {
  params: { path: { project: project.id }, query: { status: "OPEN", limit: 10 } },
});
assert(listed.data, JSON.stringify(listed.error));
const tasks: Task[] = listed.data.data.tasks;
assert.deepEqual(tasks.map((task) => task.title), ["Write the tests"]);
assert.equal(listed.data.data.next_cursor, null);

// A refusal is one of the codes that the operation declares: the compiler knows them all.
const stale = await publish(project.head_changeset_id);
assert(stale.error);
assert.equal(stale.error.ok, false);
assert.equal(recoveryOf(stale.error.error.code), "refresh");
assert.equal(stale.error.error.code, "PROJECT_MOVED");
assert.equal(stale.error.error.details.recommended_action, "REFRESH_AND_REAPPLY");
assert.deepEqual(stale.error.error.details.changed_paths, [file.path]);

function publish(base: string) {
  return client.POST("/api/v1/projects/{project}/changesets", {
    params: { path: { project: project.id }, header: { "Idempotency-Key": "publish-1" } },
    body: {
      base_changeset_id: base,
      operations: [{ action: "MODIFY", path: file.path, content: "package other\n" }],
    },
  });
}

type Refusal = NonNullable<Awaited<ReturnType<typeof publish>>["error"]>;
type PublishCode = Refusal["error"]["code"];

function recoveryOf(code: PublishCode): string {
  switch (code) {
    case "PROJECT_MOVED":
      return "refresh";
    case "SESSION_EXPIRED":
      return "login";
    // @ts-expect-error: publishing a changeset never answers with this code.
    case "TURN_LOST":
      return "turn";
    default:
      return "give up";
  }
}

// What the document does not permit does not compile.
async function wrong(): Promise<void> {
  await client.POST("/api/v1/projects", {
    params: { header: { "Idempotency-Key": "create-2" } },
    // @ts-expect-error: a visibility that there is not.
    body: { name: "Wrong", visibility: "SECRET" },
  });
  // @ts-expect-error: the key is required.
  await client.POST("/api/v1/projects", { body: { name: "Wrong", visibility: "PRIVATE" } });
  // @ts-expect-error: there is no such path.
  await client.GET("/api/v1/nothing", {});
}
void wrong;

console.log(`typed client: ok as ${agent.id}`);
