(function () {
  const $ = id => document.getElementById(id);
  const examples = JSON.parse($("scenarios").textContent);
  const state = { name: "", text: "", a: "", b: "", other: null, bText: null, seed: null };
  const sides = { a: null, b: null };
  let module = null, schema = null, checker = null, serial = 0, values = [], chosen = null, playing = 0, began = performance.now();
  const element = function (name, attributes, ...children) {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
  };
  const later = function (wait, act) {
    let timer = 0;
    return function () { clearTimeout(timer); timer = setTimeout(act, wait); };
  };

  // ---- the core, in workers ----
  const workerText = new Blob([$("worker").textContent], { type: "text/javascript" });
  const workerAddress = URL.createObjectURL(workerText);
  function worker(heard) {
    const made = new Worker(workerAddress);
    made.onmessage = event => heard(event.data);
    made.postMessage({ module });
    return made;
  }
  async function unpack(text) {
    const octets = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  }
  const waiting = new Map();
  function ask(request) {
    if (!checker) checker = worker(function (said) {
      const resolve = waiting.get(said.id);
      waiting.delete(said.id);
      if (said.defect) { checker.terminate(); checker = null; }
      if (resolve) resolve(said.answer || { error: { message: "a defect of the core: " + said.defect } });
    });
    return new Promise(function (resolve) {
      const id = ++serial;
      waiting.set(id, resolve);
      checker.postMessage({ id, request });
    });
  }
  // For tests: returns the totals of a run of any text.
  window.playground = {
    totals(text, variant) {
      return new Promise(function (resolve) {
        const id = ++serial;
        const one = worker(function (said) {
          if (said.id !== id || said.progress) return;
          one.terminate();
          resolve(said.totals || { defect: said.defect });
        });
        one.postMessage({ id, request: { do: "run", text, variant, totals: true } });
      });
    },
    check: (text, origin) => ask({ do: "check", text, origin }),
    examples,
  };

  // ---- runs ----
  function runSide(side, text, variant) {
    if (sides[side] && sides[side].worker) sides[side].worker.terminate();
    // The last picture stays, faded, until the next one is ready.
    const last = sides[side] && (sides[side].done ? sides[side] : sides[side].before);
    const one = { worker: null, text, variant, done: false, before: last };
    sides[side] = one;
    const id = ++serial;
    const said = variant || "as the file has it";
    one.label = (side === "a" ? "A: " : "B: ") + said + (side === "b" && state.bText ? ", kept" : "");
    const began = performance.now();
    one.worker = worker(function (heard) {
      if (heard.id !== id) return;
      if (heard.progress) return status(`${one.label}: ${time(heard.progress.time_ps)} simulated, ${heard.progress.events.toLocaleString("en")} events`);
      const wrong = heard.defect ? { message: "a defect of the core: " + heard.defect } : (heard.totals || heard.pictures).error;
      if (wrong) {
        one.worker.terminate();
        one.worker = null;
        if (side === "b" && !state.bText) one.failed = wrong;
        showError(wrong);
        return;
      }
      if (heard.totals) {
        one.totals = heard.totals;
        showResults();
      } else {
        one.totals = heard.pictures;
        one.pictures = heard.pictures.pictures;
        one.done = true;
        one.before = null;
        one.worker.terminate();
        one.worker = null;
        if (!heard.same) showError({ message: "a defect: the run with samples differs from the run without" });
        status(`${one.label} ran in ${((performance.now() - began) / 1000).toFixed(2)} s.`);
        drawSides();
      }
    });
    one.worker.postMessage({ id, request: { do: "run", text, variant, origin: origin() } });
  }
  const origin = () => (state.name || "scenario") + ".toml";
  const status = text => { $("status").textContent = text; };

  async function changed() {
    const text = state.text;
    const answer = await ask({ do: "check", text, variant: state.a, origin: origin() });
    if (text !== state.text) return;
    if (answer.error) {
      const plain = state.a ? await ask({ do: "check", text, variant: "", origin: origin() }) : answer;
      if (!plain.error) variants(plain.variants);
      return showError(answer.error);
    }
    showError(null);
    $("title").textContent = answer.title;
    variants(answer.variants);
    $("warnings").replaceChildren(...answer.warnings.map(one => element("li", {}, one.message)));
    runSide("a", text, state.a);
    if (state.b !== "-") runSide("b", state.bText || text, state.b);
    else if (sides.b) { if (sides.b.worker) sides.b.worker.terminate(); sides.b = null; drawSides(); }
    remember();
  }
  const soon = later(120, changed);

  function variants(names) {
    const options = [element("option", { value: "" }, "as the file has it"), ...names.map(name => element("option", { value: name }, name))];
    $("variant-a").replaceChildren(...options.map(one => one.cloneNode(true)));
    $("variant-b").replaceChildren(element("option", { value: "-" }, "nothing beside"), ...(state.bText
      ? [element("option", { value: state.b }, "kept: " + (state.b || "the file"))] : options));
    if (state.a && !names.includes(state.a)) state.a = "";
    $("variant-a").value = state.a;
    $("variant-b").value = state.b;
  }

  // ---- errors at their lines ----
  function showError(error) {
    const place = $("error");
    place.hidden = !error;
    place.textContent = error ? error.message : "";
    if (error) $("edit").open = true;
    bad = error ? error.line : null;
    // Scroll to the line after a slider or a choice, but not while the user types.
    if (bad && document.activeElement !== $("text")) $("text").scrollTop = Math.max(0, (bad - 8) * 20);
    gutter();
  }
  let bad = null;
  function gutter() {
    const count = state.text.split("\n").length;
    const lines = [];
    for (let i = 1; i <= count; i++) lines.push(element("span", i === bad ? { class: "bad" } : {}, String(i)));
    $("gutter").replaceChildren(...lines);
    $("gutter").scrollTop = $("text").scrollTop;
    $("text").setAttribute("aria-invalid", bad ? "true" : "false");
  }
  $("text").addEventListener("scroll", () => { $("gutter").scrollTop = $("text").scrollTop; });

  // ---- values with units become sliders ----
  const VALUE = /([\w-]+)\s*=\s*("?)(\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)\s*([A-Za-z%\/]*)\2(?=\s*(?:[,}\]#]|$))/g;
  function findValues() {
    values = [];
    let table = "", start = 0;
    for (const line of state.text.split("\n")) {
      const head = line.match(/^\s*\[\[?\s*([^\]]+?)\s*\]/);
      if (head) table = head[1];
      else if (!/^\s*#/.test(line)) {
        const outer = line.match(/^\s*([\w.-]+)\s*=\s*\{/);
        for (const found of line.matchAll(VALUE)) {
          if (line.slice(0, found.index).includes("#")) break;
          const path = [table, outer ? outer[1] : "", found[1]].filter(Boolean).join(".");
          const from = start + found.index + found[0].indexOf(found[3], found[1].length);
          values.push({ path, from, to: from + found[3].length, number: Number(found[3].replace(/_/g, "")), unit: found[4], integer: !found[2] && !/[.e]/.test(found[3]) });
        }
      }
      start += line.length + 1;
    }
    const before = chosen ? chosen.path : null;
    $("value-of").replaceChildren(...values.map((one, i) => element("option", { value: i }, one.path)));
    chosen = values.find(one => one.path === before) || values.find(one => /threshold|xoff|kmin|target/.test(one.path)) || values[0] || null;
    showSlider();
    $("tune").hidden = !chosen;
  }
  let middle = null;
  function showSlider() {
    if (!chosen) return;
    $("value-of").value = values.indexOf(chosen);
    if (!middle || middle.path !== chosen.path) middle = { path: chosen.path, number: chosen.number || 1 };
    const share = Math.log(Math.max(chosen.number, 1e-9) / middle.number) / Math.log(8);
    $("slide").value = Math.round(500 + 500 * Math.max(-1, Math.min(1, share)));
    $("slid").textContent = chosen.number + (chosen.unit ? " " + chosen.unit : "");
    const about = schemaAt(chosen.path.split("."));
    $("meaning").textContent = about ? about.description.replaceAll("`", "") + (about["x-range"] ? " Range: " + about["x-range"] + "." : "") : "";
  }
  $("slide").addEventListener("input", function () {
    const exact = middle.number * 8 ** ((this.value - 500) / 500);
    let number = Number(exact.toPrecision(3));
    if (chosen.integer) number = Math.max(1, Math.round(exact));
    const text = state.text.slice(0, chosen.from) + number + state.text.slice(chosen.to);
    put(text, false);
    soon();
  });
  $("value-of").addEventListener("change", function () { chosen = values[this.value]; middle = null; showSlider(); });

  // ---- the schema of a place ----
  function merged(node) {
    if (!node) return null;
    if (node.type === "array" || (Array.isArray(node.type) && node.type.includes("array") && node.items)) return merged(node.items);
    const several = (node.oneOf || node.anyOf || []).map(merged).filter(one => one && one.properties);
    if (!several.length) return node;
    return Object.assign({}, node, { properties: Object.assign({}, node.properties, ...several.map(one => one.properties)) });
  }
  function schemaAt(path) {
    let node = schema, parts = path.slice();
    if (parts[0] === "variant") parts = parts.slice(2);
    for (const part of parts) {
      node = merged(node);
      if (!node) return null;
      const next = (node.properties || {})[part];
      // In a variant, the entries of a list have labels.
      node = next || (typeof node.additionalProperties === "object" ? node.additionalProperties : null) || (node.properties && node.properties.label ? node : null);
    }
    return node;
  }

  // ---- completion ----
  function offers() {
    const area = $("text"), at = area.selectionStart, before = state.text.slice(0, at);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const tables = [...before.matchAll(/^\s*\[\[?\s*([^\]\n]+?)\s*\]/gm)];
    const table = tables.length ? tables[tables.length - 1][1].split(".") : [];
    const word = (line.match(/[\w-]*$/) || [""])[0];
    if (/^\s*\[+[\w.-]*$/.test(line)) {
      const parts = line.replace(/^\s*\[+/, "").split(".");
      const node = merged(schemaAt(parts.slice(0, -1)));
      return { word, list: entries(node, word).filter(one => one.table) };
    }
    const value = line.match(/(?:^|[{,])\s*([\w.-]+)\s*=\s*("?)[^,{}]*$/);
    const inner = line.match(/^\s*([\w.-]+)\s*=\s*\{/);
    const path = table.concat(inner ? inner[1].split(".") : []);
    if (value && !(inner && value[1] === inner[1] && /\{[^=]*$/.test(line))) {
      const node = schemaAt(path.concat(value[1].split("."))) || {};
      const known = (node.oneOf || []).map(one => [one.const, one.description]).concat((node.enum || []).map(one => [one, ""]), (node.examples || []).map(one => [one, node["x-unit"] || ""]), node.type === "boolean" ? [[true, ""], [false, ""]] : []);
      const typed = line.slice(line.indexOf("=", line.lastIndexOf(value[1])) + 1).trimStart();
      return { word: typed, list: known.filter(one => one[0] != null).map(([name, about]) => ({ put: JSON.stringify(name), name: String(name), about })).filter(one => one.put.startsWith(typed)) };
    }
    return { word, list: entries(merged(schemaAt(path)), word).map(one => Object.assign(one, { put: one.name + " = " })) };
  }
  function entries(node, word) {
    const all = Object.entries((node && node.properties) || {});
    return all.filter(([name]) => name.startsWith(word)).map(([name, one]) => ({
      name, put: name, about: one.description || "", table: one.type === "object" || one.type === "array" || !!one.oneOf || !!one.anyOf || (Array.isArray(one.type) && (one.type.includes("object"))) }));
  }
  let offered = null, picked = 0;
  function complete() {
    offered = offers();
    picked = 0;
    offered.list = offered.list.slice(0, 60);
    $("names").hidden = !offered.list.length;
    $("names").replaceChildren(...offered.list.map(function (one, i) {
      const item = element("li", { role: "option", id: "name-" + i, "aria-selected": i === 0 }, element("b", {}, one.name), " ", one.about.slice(0, 140));
      item.addEventListener("mousedown", function (event) { event.preventDefault(); picked = i; take(); });
      return item;
    }));
    mark();
  }
  function mark() {
    [...$("names").children].forEach((one, i) => one.setAttribute("aria-selected", i === picked));
    if ($("names").hidden) return $("text").removeAttribute("aria-activedescendant");
    $("text").setAttribute("aria-activedescendant", "name-" + picked);
    const one = $("names").children[picked];
    if (one) one.scrollIntoView({ block: "nearest" });
  }
  function take() {
    const one = offered.list[picked], at = $("text").selectionStart;
    const text = state.text.slice(0, at - offered.word.length) + one.put + state.text.slice(at);
    const to = at - offered.word.length + one.put.length;
    put(text, false);
    $("text").setSelectionRange(to, to);
    close();
    soon();
  }
  const close = () => { $("names").hidden = true; mark(); };
  $("text").addEventListener("keydown", function (event) {
    if (event.ctrlKey && event.code === "Space") { event.preventDefault(); return complete(); }
    if ($("names").hidden) return;
    const count = offered.list.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { picked = (picked + (event.key === "ArrowDown" ? 1 : count - 1)) % count; mark(); event.preventDefault(); }
    else if (event.key === "Enter") { take(); event.preventDefault(); }
    else if (event.key === "Escape") { close(); event.preventDefault(); }
  });
  $("text").addEventListener("blur", () => setTimeout(close, 150));
  const write = later(400, changed);
  $("text").addEventListener("input", function () {
    state.text = this.value;
    gutter();
    findValues();
    if (!$("names").hidden || /(^|\n)\s*\[{0,2}[\w.-]{2,}$/.test(state.text.slice(0, this.selectionStart))) complete();
    write();
  });
  for (const what of ["click", "keyup"]) $("text").addEventListener(what, function () {
    const at = this.selectionStart, line = state.text.slice(0, at).split("\n").length;
    const near = values.filter(one => state.text.slice(0, one.from).split("\n").length === line);
    const one = near.find(each => at <= each.to) || near[near.length - 1];
    if (one && one !== chosen) { chosen = one; middle = null; showSlider(); }
  });
  function put(text, anew) {
    state.text = text;
    const at = $("text").selectionStart, scroll = $("text").scrollTop;
    $("text").value = text;
    if (!anew) { $("text").setSelectionRange(at, at); $("text").scrollTop = scroll; }
    gutter();
    if (anew) { chosen = null; middle = null; }
    findValues();
  }

  // ---- pictures ----
  let shown = [], end = 1;
  function drawSides() {
    const ready = ["a", "b"].map(side => sides[side]).filter(Boolean).map(one => one.done ? one : one.before && one.before.done ? Object.assign(one.before, { old: true }) : null).filter(Boolean);
    if (!ready.length) return;
    end = Math.max(...ready.map(one => one.pictures.interval_ps * one.pictures.steps), 1);
    const drawn = ready.map(one => fabricDrawing(one.totals.fabric, one.pictures, `The fabric, ${one.label}: ${one.totals.fabric.nodes.length} nodes; ports by what waits for them and whether they are paused`));
    const most = {
      backlog: Math.max(1, ...drawn.flatMap(one => Array.from(one.backlog))), held: Math.max(...drawn.flatMap(one => Array.from(one.held))),
      rate: Math.max(1, ...ready.flatMap(one => one.pictures.flows.flatMap(flow => flow.rates.filter((_, i) => i % 2)))),
    };
    const deepest = Math.max(...drawn.map(one => one.deepest));
    shown = drawn.map(function (drawing, i) {
      const one = ready[i], lines = curves(drawing, one.pictures, one.totals.flows, end, most);
      const said = element("span", { class: "said" });
      const left = one.pictures.left_out ? element("p", { class: "note" }, `${one.pictures.left_out} samples were left out: the pictures end early.`) : "";
      const figure = element("figure", one.old ? { class: "old" } : {}, element("figcaption", {}, element("b", {}, one.label), " ", said), drawing.picture, lines.picture, left);
      return { figure, move(ps) {
        const step = Math.min(one.pictures.steps, Math.round(ps / one.pictures.interval_ps));
        const now = drawing.show(step, deepest);
        said.textContent = `${size(now.waiting)} wait, ${now.paused} ports paused`;
        lines.show(Math.min(ps, end));
      } };
    });
    $("sides").replaceChildren(...shown.map(one => one.figure));
    move();
    showResults();
    if (!document.body.dataset.moving) {
      document.body.dataset.moving = "yes";
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) start();
    }
  }
  function move() {
    const ps = end * $("time").value / $("time").max;
    $("clock").textContent = time(Math.round(ps));
    for (const one of shown) one.move(ps);
  }
  $("time").addEventListener("input", function () { stop(); move(); });
  function start() {
    if (Number($("time").value) >= Number($("time").max)) $("time").value = 0;
    $("play").textContent = "❚❚";
    $("play").setAttribute("aria-label", "pause");
    let last = performance.now(), at = Number($("time").value);
    const tick = function (now) {
      at += (now - last) / 8000 * $("time").max;
      last = now;
      $("time").value = at;
      move();
      if (at >= $("time").max) return stop();
      playing = requestAnimationFrame(tick);
    };
    playing = requestAnimationFrame(tick);
  }
  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    $("play").textContent = "▶";
    $("play").setAttribute("aria-label", "play");
  }
  $("play").addEventListener("click", () => playing ? stop() : start());

  // ---- results ----
  const head = (...cells) => element("thead", {}, element("tr", {}, ...cells.map((cell, i) => element("th", i > 1 || (i && cell !== "setting") ? { class: "number", scope: "col" } : { scope: "col" }, cell))));
  const row = (...cells) => element("tr", {}, ...cells.map((cell, i) => typeof cell === "object" ? element("td", { class: "wide-cell" }, cell) : element("td", i > 1 ? { class: "number" } : {}, String(cell))));
  function showResults() {
    const have = ["a", "b"].filter(side => sides[side] && sides[side].totals);
    const groups = [...new Set(have.flatMap(side => sides[side].totals.groups.map(one => one.group)))];
    const longest = Math.max(1, ...have.flatMap(side => sides[side].totals.groups.map(one => one.max_ps || 0)));
    const body = element("tbody", {});
    for (const name of groups) for (const side of have) {
      const one = sides[side].totals.groups.find(each => each.group === name);
      if (!one) continue;
      const bar = element("span", { class: "bargraph " + side, role: "img", "aria-label": "longest " + time(one.max_ps) });
      bar.style.width = Math.round(120 * (one.max_ps || 0) / longest) + "px";
      body.append(row(name, sides[side].label, one.flows, one.unfinished, time(one.min_ps), time(Math.round(one.mean_ps || 0) || null), time(one.p99_ps), time(one.max_ps), bar));
    }
    $("groups").replaceChildren(head("group", "setting", "flows", "unfinished", "shortest", "mean", "99 %", "longest", ""), body);
    const totals = element("tbody", {});
    const line = (name, of) => totals.append(element("tr", {}, element("th", { scope: "row" }, name), ...have.map(side => element("td", { class: name === "ended early" ? "sentence" : "number" }, String(of(sides[side].totals))))));
    line("end of the run", one => time(one.time_ps));
    line("frames dropped", one => one.drops);
    line("pauses received", one => one.pauses);
    line("time in pause, all ports", one => time(one.paused_ps));
    line("frames marked", one => one.marked_frames);
    line("deepest queue", one => size(one.max_egress_bytes));
    line("messages of controls", one => Object.entries(one.controls).map(([kind, count]) => kind + " " + count).join(", ") || "none");
    line("ended early", one => one.broken || (one.deadlock ? "deadlock at " + time(one.deadlock.time_ps) : "no"));
    line("events", one => one.events.toLocaleString("en"));
    line("fingerprint", one => one.fingerprint);
    $("totals").replaceChildren(element("thead", {}, element("tr", {}, element("th", {}, ""), ...have.map(side => element("th", { class: "number", scope: "col" }, sides[side].label)))), totals);
    const rows = have.flatMap(side => sides[side].totals.flows.slice(0, 200).map(one => row(one.group, sides[side].label, "h" + one.src + " to h" + one.dst, size(one.bytes), time(one.start_ps), time(one.fct_ps), one.state)));
    $("flows").replaceChildren(head("group", "setting", "way", "size", "start", "time", "state"), element("tbody", {}, ...rows));
  }

  // ---- links and files ----
  async function squeeze(octets, stream) {
    return new Uint8Array(await new Response(new Blob([octets]).stream().pipeThrough(stream)).arrayBuffer());
  }
  async function link() {
    const kept = { n: state.name, t: state.text === examples[state.name] ? undefined : state.text, a: state.a, b: state.b, k: state.bText || undefined };
    const octets = await squeeze(new TextEncoder().encode(JSON.stringify(kept)), new CompressionStream("deflate-raw"));
    return "#s=" + btoa(String.fromCharCode(...octets)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }
  const remember = later(300, async function () { history.replaceState(null, "", await link()); });
  async function fromLink() {
    const found = location.hash.match(/^#s=([\w-]+)$/);
    if (!found) return null;
    try {
      const octets = Uint8Array.from(atob(found[1].replace(/-/g, "+").replace(/_/g, "/")), letter => letter.charCodeAt(0));
      return JSON.parse(new TextDecoder().decode(await squeeze(octets, new DecompressionStream("deflate-raw"))));
    } catch (error) {
      status("The link cannot be read; it may have been cut.");
      return null;
    }
  }
  $("share").addEventListener("click", async function () {
    const fragment = await link();
    history.replaceState(null, "", fragment);
    try { await navigator.clipboard.writeText(location.href); status("The link is copied: the scenario is in it."); }
    catch (error) { status("The link stands in the address bar: the scenario is in it."); }
  });
  $("download").addEventListener("click", function () {
    const address = URL.createObjectURL(new Blob([state.text], { type: "application/toml" }));
    element("a", { href: address, download: origin() }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });

  // ---- choosing ----
  function choose(name) {
    Object.assign(state, { name, a: "", b: "-", bText: null });
    const first = (examples[name].match(/^\[variant\.([\w-]+)/m) || [])[1];
    if (first) state.b = first;
    $("scenario").value = name;
    // Results of the previous scenario must not be shown for this one.
    for (const side of ["a", "b"]) { if (sides[side] && sides[side].worker) sides[side].worker.terminate(); sides[side] = null; }
    $("sides").replaceChildren();
    shown = [];
    put(examples[name], true);
    changed();
  }
  $("scenario").append(...Object.keys(examples).map(name => element("option", { value: name }, name)));
  $("scenario").addEventListener("change", function () { choose(this.value); });
  $("variant-a").addEventListener("change", function () { state.a = this.value; changed(); });
  $("variant-b").addEventListener("change", function () { state.b = this.value; if (state.b === "-") state.bText = null; changed(); });
  $("keep").addEventListener("click", function () {
    state.bText = state.text;
    state.b = state.a;
    changed();
    status("B keeps this setting while A changes.");
  });

  (async function () {
    status("The core is being compiled.");
    module = await unpack($("wasm").textContent.trim());
    const kept = await fromLink();
    ask({ do: "schema" }).then(function (answer) { schema = JSON.parse(answer.schema); showSlider(); });
    ask({ do: "version" }).then(answer => { $("about").textContent = Object.entries(answer.version).map(([name, of]) => name + " " + of).join(" · "); });
    if (kept && (kept.t || examples[kept.n])) {
      Object.assign(state, { name: kept.n, a: kept.a || "", b: kept.b, bText: kept.k || null });
      $("scenario").value = examples[kept.n] ? kept.n : "";
      put(kept.t || examples[kept.n], true);
      changed();
    } else choose(Object.keys(examples)[0]);
  })().catch(function (error) { showError({ message: "The page cannot start: " + error }); });
})();
