// What the page asks of its server: JSON, and events that are told while something is under way.

const GONE = "skr serve does not answer: is it still running?";

/** Ask for JSON; a refusal is an Error whose message is the server's one line. */
export async function ask(method, path, body) {
  const response = await reached(fetch(path, withBody(method, body)));
  if (!response.ok) throw new Error(await lineOf(response));
  return response.json();
}

/**
 * Ask for something that takes its time, and hear its events.
 *
 * `hear` is called with the name of each event, empty for those of the graph, and what it says. An
 * event named `error` ends it as an Error.
 */
export async function listen(path, body, hear, signal) {
  const response = await reached(fetch(path, { ...withBody("POST", body), signal }));
  if (!response.ok) throw new Error(await lineOf(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  let ended = false;
  for (;;) {
    const { done, value } = await reached(reader.read());
    if (done && ended) return;
    if (done) throw new Error(GONE);
    waiting += value;
    const whole = waiting.split("\n\n");
    waiting = whole.pop();
    for (const each of whole) {
      const { name, said } = read(each);
      if (name === "error") throw new Error(said);
      hear(name, said);
      ended = name === "run" || name === "result";
    }
  }
}

/** What a browser says of a server that is gone differs from browser to browser, and says little. */
async function reached(asked) {
  try {
    return await asked;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(GONE);
  }
}

function withBody(method, body) {
  if (body === undefined) return { method };
  if (body instanceof FormData) return { method, body };
  const headers = { "content-type": "application/json" };
  return { method, headers, body: JSON.stringify(body) };
}

function read(event) {
  const lines = event.split("\n");
  const of = (field) => lines.find((line) => line.startsWith(field))?.slice(field.length) ?? "";
  return { name: of("event: "), said: JSON.parse(of("data: ")) };
}

async function lineOf(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `the server answered ${response.status}`;
  }
}
