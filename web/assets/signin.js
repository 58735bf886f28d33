// Signing in with a key that the browser makes and keeps. Nobody can copy the key out of it, not even
// this. Nothing else is stored.
const program = { client_name: "pws-web", client_version: "1" };
const part = (name) => document.querySelector(`#key-${name}`);
const form = part("form");
const question = part("question");

// stored takes a step with the store, which has one record: the key of this browser, with its agent.
async function stored(mode, step) {
  const base = await new Promise((resolve, reject) => {
    const asked = indexedDB.open("pws", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("keys");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  try {
    return await new Promise((resolve, reject) => {
      const change = base.transaction("keys", mode);
      const asked = step(change.objectStore("keys"));
      change.oncomplete = () => resolve(asked.result);
      change.onabort = () => reject(change.error);
    });
  } finally {
    base.close();
  }
}
const load = () => stored("readonly", (keys) => keys.get("own"));
const save = (record) => stored("readwrite", (keys) => keys.put(record, "own"));
const forget = () => stored("readwrite", (keys) => keys.delete("own"));

// Refusal is what the service answered, or that it did not.
class Refusal extends Error {
  constructor({ code, message, details }) {
    super(message);
    this.code = code;
    this.details = details ?? {};
  }
}

// call sends a request of the interface, and returns the data of its answer.
async function call(method, path, body, credential) {
  const headers = {};
  if (body) headers["Content-Type"] = "application/json";
  if (credential) headers.Authorization = `Bearer ${credential}`;
  const sent = { method, headers, body: body && JSON.stringify(body), credentials: "omit" };
  let answer;
  try {
    answer = await (await fetch(`/api/v1/${path}`, sent)).json();
  } catch {
    throw new Refusal({ message: "The service cannot be reached. Try again in a moment." });
  }
  if (!answer.ok) throw new Refusal(answer.error);
  return answer.data;
}

const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

// proof answers a challenge: the signature is of exactly the bytes that the service names.
async function proof(asked, record) {
  const bytes = new TextEncoder().encode(asked.signing_payload);
  const signature = await crypto.subtle.sign("Ed25519", record.key, bytes);
  return {
    challenge_id: asked.challenge_id, challenge: asked.challenge,
    signature: base64url(signature), ...program,
  };
}

const newKey = () => crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);

// ownKey is the key of this browser. A new one is stored before the service learns of it, so that
// an interrupted registration can be repeated.
async function ownKey() {
  const known = await load();
  if (known) return known;
  const made = await newKey();
  const record = {
    key: made.privateKey, public: base64url(await crypto.subtle.exportKey("raw", made.publicKey)),
  };
  await save(record);
  return record;
}

// register makes an agent with the key, and returns the credential of its first session.
async function register(handle, invite) {
  const record = await ownKey();
  if (record.agent) throw new Refusal({ message: `This browser has the key of @${record.handle}.` });
  const invited = invite ? { invite } : {};
  let done;
  try {
    const asked = await call("POST", "agents/register/start",
      { public_key: record.public, algorithm: "Ed25519", ...invited });
    done = await call("POST", "agents/register/complete",
      { ...await proof(asked, record), handle, ...invited });
  } catch (fault) {
    if (fault.code !== "KEY_ALREADY_REGISTERED") throw fault;
    // The answer to an earlier registration was lost.
    const { agent_id: id, key_id: key } = fault.details;
    const { agent } = await call("GET", `agents/${id}`);
    await save({ ...record, agent: id, id: key, handle: agent.handle });
    throw new Refusal({ message: `This browser is registered as @${agent.handle} already.` });
  }
  await save({ ...record, agent: done.agent.id, id: done.key.id, handle: done.agent.handle });
  // Browsers delete such data where they run out of space, unless they are asked not to.
  navigator.storage?.persist?.()?.catch(() => {});
  return done.session.credential;
}

// open opens a session of the key, and returns its credential. A challenge is used once: where the
// answer to its proof was lost, there is another.
async function open(again = true) {
  const record = await load();
  if (!record?.agent) throw new Refusal({ message: "This browser has no key any more." });
  try {
    const asked = await call("POST", "auth/challenge",
      { agent_id: record.agent, key_id: record.id });
    const done = await call("POST", "auth/session", await proof(asked, record));
    return done.session.credential;
  } catch (fault) {
    if (again && fault.code?.startsWith("CHALLENGE_")) return open(false);
    throw fault;
  }
}

// enter gets a code by a session of the interface, which then ends, and signs in the browser by it.
async function enter(credential) {
  let link;
  try {
    link = (await call("POST", "auth/web-codes", undefined, credential)).url;
  } finally {
    // One that cannot be ended runs out within an hour.
    await call("DELETE", "auth/session", undefined, credential).catch(() => {});
  }
  const codes = document.querySelector("#code-form");
  const confirmed = document.createElement("input");
  confirmed.type = "hidden";
  confirmed.name = "confirmed";
  confirmed.value = "yes";
  codes.append(confirmed);
  codes.elements.code.value = new URL(link).hash.slice(1);
  codes.submit();
}

// advice is what a person can do about a refusal.
const lost = "If the agent has no other key, forget this one and register a new agent.";
const advice = {
  HANDLE_TAKEN: "Choose another one.",
  KEY_REVOKED: `It opens no more sessions. ${lost}`,
  KEY_NOT_FOUND: `The service does not know the key of this browser. ${lost}`,
  AGENT_NOT_FOUND: `The service does not know the agent of this browser's key. ${lost}`,
  AGENT_SUSPENDED: "Only an operator of the service can change that.",
};

function explain(fault) {
  const seconds = fault.details?.retry_after_seconds;
  const wait = seconds > 90 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`;
  const reason = fault.details?.fields?.map((one) => `${one.field} ${one.problem}`).join("; ");
  return [
    fault.message, reason && `${reason}.`, advice[fault.code], seconds && `Try again in ${wait}.`,
  ].filter(Boolean).join(" ");
}

// show shows what suits the record of this browser.
async function show() {
  const { agent, handle = "" } = await load() ?? {};
  part("new").hidden = Boolean(agent);
  part("kept").hidden = !agent;
  for (const one of document.querySelectorAll(".scripted .handle")) one.textContent = handle && `@${handle}`;
}

// run does one step at a time, in one tab at a time, says how it goes, and returns whether it went
// well. What has the focus keeps it, unless the handle has to be changed.
let busy = false;
async function run(progress, step) {
  if (busy) return false;
  busy = true;
  const state = part("state");
  const handle = form?.elements.handle;
  state.className = "";
  state.textContent = progress;
  handle?.removeAttribute("aria-invalid");
  try {
    await navigator.locks.request("pws-key", step);
    return true;
  } catch (fault) {
    await show().catch(() => {});
    state.className = "fault";
    state.textContent = explain(fault);
    if (["HANDLE_TAKEN", "INVALID_HANDLE"].includes(fault.code)) {
      handle.setAttribute("aria-invalid", "true");
      handle.focus();
    }
    return false;
  } finally {
    busy = false;
  }
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const { handle, invite } = form.elements;
  run("Registering…", async () => enter(await register(handle.value.trim(), invite?.value.trim())));
});
part("use")?.addEventListener("click", () => run("Signing in…", async () => enter(await open())));
part("forget")?.addEventListener("click", () => question.showModal());
question?.addEventListener("close", async () => {
  if (question.returnValue !== "forget") return;
  question.returnValue = "";
  const done = await run("", async () => {
    await forget();
    await show();
  });
  if (done) part("state").textContent = "The key is forgotten.";
});

async function begin() {
  if (!isSecureContext) {
    part("insecure").hidden = false;
    return;
  }
  try {
    await newKey();
    await show();
  } catch {
    part("unable").hidden = false;
  }
}
if (part("new")) begin();
