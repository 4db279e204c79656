"use strict";
// Runs the core in a thread. It answers the page's requests in order, and reports the progress of a run.
let core = null;

async function load(module) {
  const instance = await WebAssembly.instantiate(module, {});
  core = instance.exports;
}

function ask(request) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  const at = core.input(text.length);
  // The memory may have grown, so each request needs a new view of it.
  new Uint8Array(core.memory.buffer, at, text.length).set(text);
  const length = core.call();
  const answer = new Uint8Array(core.memory.buffer, core.output(), length);
  return JSON.parse(new TextDecoder().decode(answer));
}

function through(request, tell) {
  const begun = ask(Object.assign({}, request, { do: "start" }));
  if (begun.error) return begun;
  let told = performance.now();
  for (;;) {
    const now = ask({ do: "advance", events: 100000 });
    if (now.error) return now;
    if (now.done) break;
    if (performance.now() - told > 150) {
      told = performance.now();
      tell(now);
    }
  }
  return Object.assign(ask({ do: "finish" }), { warnings: begun.warnings });
}

// The most samples of a port, and numbers of all ports together.
const STEPS = 240, NUMBERS = 1200000;

function run(id, request) {
  const tell = function (now) { postMessage({ id: id, progress: now }); };
  const first = through(request, tell);
  postMessage({ id: id, totals: first });
  if (first.error || request.totals) return;
  // The simulated time is known now. Run the same scenario a second time, with samples.
  const last = first.groups.length ? first.time_ps : 1;
  const steps = Math.max(20, Math.min(STEPS, Math.floor(NUMBERS / Math.max(1, request.ports || 1))));
  const filmed = Object.assign({}, request, {
    pictures: true, interval_ps: Math.max(1, Math.ceil(last / steps)),
    flow_rates: first.flows_done + first.flows_unfinished <= 64,
  });
  const second = through(filmed, tell);
  postMessage({ id: id, pictures: second, same: second.fingerprint === first.fingerprint });
}

onmessage = async function (event) {
  const { id, module, request } = event.data;
  try {
    if (module) await load(module);
    else if (request.do === "run") run(id, request);
    else postMessage({ id: id, answer: ask(request) });
  } catch (error) {
    postMessage({ id: id, defect: String(error) });
  }
};
