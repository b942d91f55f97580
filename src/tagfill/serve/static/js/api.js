// Requests to the server that served this page.

let session = null;

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function whoAmI() {
  session ??= await get("/api/session");
  return session;
}

export async function setName(name) {
  session = await send("PUT", "/api/session", { name });
  return session;
}

export function get(path) {
  return ask(path, { headers: { accept: "application/json" } });
}

export function post(path, body = {}) {
  return send("POST", path, body);
}

// Save a file as it arrives; what the server refuses is an error here, not a file.
export async function download(path) {
  const probe = new AbortController();
  const response = await reach(path, { signal: probe.signal });
  if (!response.ok) throw new Refusal(response.status, message(await response.json()));
  probe.abort();
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}

// Give cards back when the page is left, so that others get them at once.
export function releaseOnLeaving(held) {
  addEventListener("pagehide", () => {
    const body = held();
    if (!session?.csrf || !body.photos.length) return;
    const headers = { "content-type": "application/json", "x-csrf-token": session.csrf };
    fetch("/api/review/release", { method: "POST", keepalive: true, headers, body: JSON.stringify(body) }).catch(() => {});
  });
}

export async function send(method, path, body) {
  const options = async () => {
    const { csrf } = await whoAmI();
    const headers = { accept: "application/json", "x-csrf-token": csrf ?? "" };
    if (body instanceof FormData) return { method, headers, body };
    headers["content-type"] = "application/json";
    return { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  };
  try {
    return await ask(path, await options());
  } catch (error) {
    if (error.status !== 403) throw error;
    session = null; // the server may have been started anew
    return ask(path, await options());
  }
}

async function reach(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Refusal(0, "offline");
  }
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  return response;
}

async function ask(path, options) {
  const response = await reach(path, options);
  const json = (response.headers.get("content-type") ?? "").includes("json");
  const content = json ? await response.json() : await response.blob();
  if (!response.ok) throw new Refusal(response.status, message(content));
  return content;
}

function message(content) {
  return String(content?.detail ?? "");
}
