"use strict";
// Draws the fabric with its ports, and curves over time. This file does not use the core.
const NS = "http://www.w3.org/2000/svg";

function svg(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  for (const child of children) made.append(child);
  return made;
}

function time(ps) {
  if (ps == null) return "–";
  for (const [unit, factor] of [["s", 1e12], ["ms", 1e9], ["us", 1e6], ["ns", 1e3]]) {
    if (ps >= factor) return +(ps / factor).toPrecision(5) + " " + unit;
  }
  return ps + " ps";
}

function size(bytes) {
  return bytes >= 1e6 ? (bytes / 1e6).toFixed(2) + " MB" : bytes >= 1e3 ? Math.round(bytes / 1e3) + " KB" : bytes + " B";
}

// On a phone the drawing is fewer units wide, so that its names stay readable.
const across = () => window.innerWidth < 640 ? 400 : 640;

// Places the nodes: hosts at the bottom, and each switch as many rows up as it is links away from the nearest host.
function layout(fabric) {
  const count = fabric.nodes.length, near = Array.from({ length: count }, () => []);
  for (const [a, b] of fabric.links) { near[a].push(b); near[b].push(a); }
  const level = new Array(count).fill(-1);
  let wave = [];
  fabric.nodes.forEach(function (node, i) { if (node[2]) { level[i] = 0; wave.push(i); } });
  for (let depth = 1; wave.length; depth++) {
    const next = [];
    for (const i of wave) for (const j of near[i]) if (level[j] < 0) { level[j] = depth; next.push(j); }
    wave = next;
  }
  for (let i = 0; i < count; i++) if (level[i] < 0) level[i] = 1;
  const rows = [];
  for (let i = 0; i < count; i++) (rows[level[i]] = rows[level[i]] || []).push(i);
  const full = rows.filter(Boolean), width = across(), gap = 92, height = gap * (full.length - 1) + 84;
  const x = new Array(count), y = new Array(count);
  // Hosts have the order of the switches above them, so that fewer lines cross.
  full.forEach(function (row, number) {
    const above = full.slice().reverse().find(one => level[one[0]] === level[row[0]] + 1) || [];
    const place = new Map(above.map((node, at) => [node, at]));
    const first = node => Math.min(...near[node].map(other => place.has(other) ? place.get(other) : 1e9));
    if (level[row[0]] === 0) row.sort((a, b) => first(a) - first(b) || a - b);
    row.forEach(function (node, at) {
      x[node] = 24 + (width - 48) * (at + .5) / row.length;
      y[node] = height - 38 - gap * number;
    });
  });
  const widest = Math.max(...full.map(row => row.length));
  return { x, y, level, width, height, widest, rows: full };
}

// Creates a drawing of the fabric, which updates only the parts that change.
function fabricDrawing(fabric, pictures, label) {
  const at = layout(fabric), hosts = at.rows[0].length;
  const apart = at.width / Math.max(hosts, 1), small = Math.max(.3, Math.min(1, apart / 36)), every = Math.ceil(26 / apart);
  const lines = svg("g", {}), marks = svg("g", {}), nodes = svg("g", {}), names = svg("g", {});
  const ends = function (a, b) {
    const dx = at.x[b] - at.x[a], dy = at.y[b] - at.y[a], long = Math.hypot(dx, dy) || 1;
    const nx = -dy / long, ny = dx / long, aside = 2.6 * small;
    // A link within a row is an arc above the nodes between its ends.
    const bend = at.level[a] === at.level[b] ? Math.min(60, long / 5) * Math.sign(at.x[b] - at.x[a] || 1) : 0;
    const p = [at.x[a] + nx * aside, at.y[a] + ny * aside], q = [at.x[b] + nx * aside, at.y[b] + ny * aside];
    const c = [(p[0] + q[0]) / 2 + ny * 0, (p[1] + q[1]) / 2 - Math.abs(bend)];
    const t = Math.min(.3, 26 * small / long);
    const on = s => [0, 1].map(i => (1 - s) ** 2 * p[i] + 2 * s * (1 - s) * c[i] + s * s * q[i]);
    return { d: `M${p[0].toFixed(1)} ${p[1].toFixed(1)}Q${c[0].toFixed(1)} ${c[1].toFixed(1)} ${q[0].toFixed(1)} ${q[1].toFixed(1)}`,
      dot: on(t), bar: on(Math.min(.45, t * 1.8)), nx, ny };
  };
  for (const [a, b] of fabric.links) lines.append(svg("path", { d: ends(a, b).d, class: "idle" }));
  const moving = [];
  for (const port of pictures.ports) {
    if (!port.sent.length && !port.waiting.length && !port.paused.length) continue;
    const way = ends(port.node, port.peer);
    const one = { port, line: svg("path", { d: way.d, class: "link", visibility: "hidden" }),
      dot: svg("circle", { cx: way.dot[0].toFixed(1), cy: way.dot[1].toFixed(1), r: 0, class: "waits" }),
      bar: svg("path", { class: "held", visibility: "hidden",
        d: `M${(way.bar[0] - way.nx * 8 * small).toFixed(1)} ${(way.bar[1] - way.ny * 8 * small).toFixed(1)}L${(way.bar[0] + way.nx * 8 * small).toFixed(1)} ${(way.bar[1] + way.ny * 8 * small).toFixed(1)}` }),
      sent: dense(port.sent, pictures.steps), waiting: dense(port.waiting, pictures.steps), paused: dense(port.paused, pictures.steps) };
    const from = fabric.nodes[port.node][0] + " to " + fabric.nodes[port.peer][0];
    one.dot.append(svg("title", {}, from));
    one.bar.append(svg("title", {}, from + ": paused"));
    lines.append(one.line);
    marks.append(one.dot, one.bar);
    moving.push(one);
  }
  fabric.nodes.forEach(function (node, i) {
    const w = node[2] ? 22 * small : 34 * Math.min(1, 14 / at.widest + .3), h = node[2] ? 16 * small : 22;
    nodes.append(svg("rect", { x: (at.x[i] - w / 2).toFixed(1), y: (at.y[i] - h / 2).toFixed(1), width: w.toFixed(1), height: h, rx: node[2] ? 8 * small : 3, class: "node" },
      svg("title", {}, node[0])));
    // If hosts are close together, only every second or third has its name.
    if (node[2] && at.rows[0].indexOf(i) % every) return;
    names.append(svg("text", { x: at.x[i].toFixed(1), y: (at.y[i] + (node[2] ? 8 * small + 14 : -15)).toFixed(1), class: "name", "font-size": node[2] ? Math.max(11, 14 * small) : 14 }, node[0]));
  });
  const picture = svg("svg", { viewBox: `0 0 ${at.width} ${at.height}`, role: "img", "aria-label": label }, lines, nodes, marks, names);
  const show = function (step, deepest) {
    let paused = 0, waiting = 0;
    for (const one of moving) {
      const share = one.port.rate_bps ? Math.min(1, one.sent[step] * 8e12 / pictures.interval_ps / one.port.rate_bps) : 0;
      one.line.setAttribute("visibility", share > .005 ? "visible" : "hidden");
      if (share > .005) one.line.setAttribute("stroke-width", (1 + 4 * share * small).toFixed(1));
      one.dot.setAttribute("r", one.waiting[step] ? (2 + 9 * small * Math.sqrt(one.waiting[step] / deepest)).toFixed(1) : 0);
      one.bar.setAttribute("visibility", one.paused[step] ? "visible" : "hidden");
      if (one.paused[step]) paused++;
      waiting += one.waiting[step];
    }
    return { paused, waiting };
  };
  const backlog = new Float64Array(pictures.steps + 1), held = new Float64Array(pictures.steps + 1);
  let deepest = 1;
  for (const one of moving) {
    for (let i = 0; i <= pictures.steps; i++) {
      backlog[i] += one.waiting[i];
      held[i] += one.paused[i] ? 1 : 0;
      if (one.waiting[i] > deepest) deepest = one.waiting[i];
    }
  }
  return { picture, show, backlog, held, deepest };
}

function dense(pairs, steps) {
  const values = new Float64Array(steps + 1);
  for (let i = 0; i < pairs.length; i += 2) if (pairs[i] <= steps) values[pairs[i]] = pairs[i + 1];
  return values;
}

const SHADES = ["var(--accent)", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

// Draws curves over the time axis of the fabric: `end` is the later end of both sides.
function curves(drawing, pictures, flows, end, most) {
  const width = across(), high = 74, low = 30, rateHigh = 70;
  const x = step => width * step * pictures.interval_ps / end;
  const area = function (values, top, room, greatest) {
    let d = `M0 ${top + room}`;
    for (let i = 0; i < values.length; i++) d += `L${x(i).toFixed(1)} ${(top + room - room * values[i] / greatest).toFixed(1)}`;
    return d + `L${x(values.length - 1).toFixed(1)} ${top + room}Z`;
  };
  const parts = [
    svg("text", { x: 0, y: 12, class: "axis" }, "bytes in all queues, up to " + size(most.backlog)),
    svg("path", { d: area(drawing.backlog, 16, high, most.backlog), class: "area" }),
    svg("text", { x: 0, y: high + 34, class: "axis" }, "ports paused, up to " + most.held),
    svg("path", { d: area(drawing.held, high + 38, low, Math.max(1, most.held)), class: "ports" }),
  ];
  let bottom = high + low + 44;
  const rated = pictures.flows.slice(0, SHADES.length);
  if (rated.length) {
    parts.push(svg("text", { x: 0, y: bottom + 12, class: "axis" }, "rates of flows, up to " + (most.rate / 1e9).toFixed(0) + " Gb/s"));
    rated.forEach(function (one, number) {
      const values = dense(one.rates, pictures.steps);
      let d = "";
      for (let i = 0; i < values.length; i++) d += (i ? "L" : "M") + x(i).toFixed(1) + " " + (bottom + 16 + rateHigh - rateHigh * values[i] / most.rate).toFixed(1);
      const flow = flows.find(each => each.id === one.flow);
      parts.push(svg("path", { d, class: "rate", style: "stroke: " + SHADES[number] }, svg("title", {}, flow ? `${flow.group} h${flow.src} to h${flow.dst}` : "flow " + one.flow)));
      parts.push(svg("text", { x: 4 + number * width / 6, y: bottom + rateHigh + 32, class: "axis" }, svg("tspan", { style: "fill: " + SHADES[number] }, "■ "), flow ? `h${flow.src}→h${flow.dst}` : "flow " + one.flow));
    });
    bottom += rateHigh + 38;
  }
  const cursor = svg("line", { y1: 14, y2: bottom, class: "cursor" });
  const picture = svg("svg", { viewBox: `0 0 ${width} ${bottom}`, role: "img", "aria-label": `Over time: bytes in all queues, at most ${size(Math.max(...drawing.backlog))}; ports paused, at most ${Math.max(...drawing.held)}` }, ...parts, cursor);
  return { picture, show(ps) { const at = width * ps / end; cursor.setAttribute("x1", at); cursor.setAttribute("x2", at); } };
}
