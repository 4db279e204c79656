"use strict";
// One port, flow or collective that the reader picks: facts, curves over the film's time, what it waited for.
(function () {
  const kinds = [["ports", "Ports"], ["flows", "Flows"], ["collectives", "Collectives"]];
  function element(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  for (const one of backwater.films) {
    const root = one.root, film = one.film, place = root.querySelector(".look");
    if (!place) continue;
    const all = JSON.parse(document.getElementById(place.dataset.looks).textContent);
    const config = JSON.parse(document.getElementById("theme").textContent);
    const select = place.querySelector("select"), said = place.querySelector(".looked");
    const byName = new Map(), byEdge = new Map();
    for (const [kind, title] of kinds) {
      if (!all[kind].length) continue;
      const group = element("optgroup");
      group.label = title;
      all[kind].forEach(function (about) {
        byName.set(about.name, about);
        if (about.edge !== undefined && about.edge !== null && !byEdge.has(about.edge)) byEdge.set(about.edge, about);
        const option = element("option", about.name);
        option.value = about.name;
        group.appendChild(option);
      });
      select.appendChild(group);
    }
    let forget = null, latest = 0;

    function chart(about, room) {
      const unit = film.clock_ps, us = 1e6 / unit, rule = {
        data: { values: [{}] }, mark: { type: "rule", color: "#1b1f24", strokeWidth: 1.5 },
        encoding: { x: { datum: { expr: "now" }, type: "quantitative" } },
      };
      const x = { field: "t", type: "quantitative", title: null, scale: { domain: [film.begin_us * us, film.end_us * us], nice: false } };
      const width = Math.max(120, room - 84);
      const parts = about.curves.map(function (curve, number) {
        const bytes = one.bytes(curve.line), paused = curve.name === "paused";
        const values = Array.from(bytes, function (value, i) {
          return { t: (film.begin_us + (i + 0.5) * film.step_us) * us, v: value / 255 * curve.top };
        });
        const last = number === about.curves.length - 1;
        return {
          width: width, height: paused ? 18 : 84, layer: [
            { data: { values: values }, mark: { type: "area", interpolate: "step", line: { strokeWidth: 1.2 }, opacity: 0.75, color: paused ? "#D55E00" : number ? "#0072B2" : "#E69F00" },
              encoding: { x: Object.assign({}, x, last ? { title: "time (" + film.clock + ")" } : {}), y: { field: "v", type: "quantitative", title: curve.name, axis: paused ? { labels: false, ticks: false, grid: false, titleAngle: 0, titleAlign: "right", titleBaseline: "middle" } : { tickCount: 3, minExtent: 52 } } } },
            rule],
        };
      });
      return { vconcat: parts, spacing: 6, params: [{ name: "now", value: 0 }], config: config, description: about.name };
    }

    function show(about) {
      said.replaceChildren();
      const mine = ++latest;
      if (forget) { forget(); forget = null; }
      mark(about);
      select.value = about ? about.name : "";
      if (!about) return;
      said.appendChild(element("h3", about.name));
      const facts = element("dl");
      for (const [name, value] of about.facts) {
        const pair = element("div");
        pair.append(element("dt", name), element("dd", value));
        facts.appendChild(pair);
      }
      said.appendChild(facts);
      const room = said.clientWidth;
      if (about.curves.length && window.vegaEmbed) {
        const drawn = element("div", undefined, "chart");
        drawn.setAttribute("role", "group");
        drawn.setAttribute("aria-label", "curves over time of " + about.name);
        said.appendChild(drawn);
        if (all.note) said.appendChild(element("p", "A rate is the mean over a step: " + all.note + ".", "note"));
        window.vegaEmbed(drawn, chart(about, room), Object.assign({}, backwater.embed, { actions: false })).then(function (made) {
          if (mine !== latest) { made.view.finalize(); return; }
          forget = backwater.add(made.view, drawn, film.clock_ps);
          said.dataset.shown = about.name;
        }).catch(function (error) { console.error(error); });
      } else {
        said.appendChild(element("p", "Nothing of it was found in any sample.", "note"));
        said.dataset.shown = about.name;
      }
      said.appendChild(element("h4", about.edge === undefined ? "What it waited for" : "What waited here, and why"));
      if (!about.waits.length) {
        said.appendChild(element("p", film.waits ? "Nothing." : "It was not recorded (output.waits).", "note"));
        return;
      }
      const table = element("table", undefined, "waits"), longest = about.waits[0][2];
      for (const [where, why, us] of about.waits) {
        const row = element("tr"), bar = element("td", undefined, "bar"), fill = element("span");
        fill.style.width = Math.max(1, 100 * us / longest).toFixed(1) + "%";
        bar.appendChild(fill);
        row.append(element("td", where), element("td", why), element("td", us.toFixed(us < 100 ? 2 : 0) + " us", "number"), bar);
        table.appendChild(row);
      }
      said.appendChild(table);
    }

    const svg = root.querySelector(".track .wide svg"), lines = Array.from(svg.querySelectorAll(".links > line"));
    const halo = document.createElementNS("http://www.w3.org/2000/svg", "line");
    halo.setAttribute("class", "halo");
    halo.setAttribute("visibility", "hidden");
    svg.querySelector(".links").after(halo);
    function mark(about) {
      const line = about && about.edge !== undefined && about.edge !== null ? lines[about.edge] : null;
      halo.setAttribute("visibility", line ? "visible" : "hidden");
      if (line) for (const name of ["x1", "y1", "x2", "y2"]) halo.setAttribute(name, line.getAttribute(name));
    }

    function nearest(event) {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = null, least = Infinity;
      lines.forEach(function (line, i) {
        if (!byEdge.has(i)) return;
        const [ax, ay, bx, by] = ["x1", "y1", "x2", "y2"].map(function (name) { return Number(line.getAttribute(name)); });
        const dx = bx - ax, dy = by - ay;
        const share = Math.max(0.02, Math.min(0.98, ((at.x - ax) * dx + (at.y - ay) * dy) / (dx * dx + dy * dy || 1)));
        // Of the two directions of a link, the one whose sender is nearer.
        const away = Math.hypot(ax + share * dx - at.x, ay + share * dy - at.y) + 3 * share;
        if (away < least) { least = away; best = i; }
      });
      const reach = 16 * svg.viewBox.baseVal.width / svg.getBoundingClientRect().width;
      return least < Math.max(10, reach) ? byEdge.get(best) : null;
    }
    svg.style.cursor = "pointer";
    svg.addEventListener("click", function (event) { show(nearest(event)); });
    select.addEventListener("change", function () { show(byName.get(select.value) || null); });
    root.pick = function (name) {
      const about = byName.get(name) || all.flows.find(function (flow) { return flow.group === name; });
      if (about) { show(about); place.scrollIntoView({ block: "nearest" }); }
    };
    // Where most waited, to begin with.
    if (all.ports.length) show(all.ports[0]);
  }
})();
