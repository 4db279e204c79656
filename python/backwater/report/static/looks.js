"use strict";
// A port, flow or collective that the reader chooses: facts, curves over the time of the film, waits.
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
    // Each run of the film has its own data; a name means the same in all runs.
    const runs = JSON.parse(document.getElementById(place.dataset.looks).textContent);
    const config = JSON.parse(document.getElementById("theme").textContent);
    const select = place.querySelector("select"), said = place.querySelector(".looked");
    for (const run of runs) {
      run.byName = new Map();
      run.byEdge = new Map();
    }
    for (const [kind, title] of kinds) {
      const group = element("optgroup"), listed = new Set();
      group.label = title;
      for (const run of runs) for (const about of run[kind]) {
        run.byName.set(about.name, about);
        if (about.edge !== undefined && about.edge !== null && !run.byEdge.has(about.edge)) run.byEdge.set(about.edge, about);
        if (listed.has(about.name)) continue;
        listed.add(about.name);
        const option = element("option", about.name);
        option.value = about.name;
        group.appendChild(option);
      }
      if (listed.size) select.appendChild(group);
    }
    let drawings = [], latest = 0;

    // One scale for all runs, so that they can be compared.
    function top(name, curve) {
      const all = runs.flatMap(function (run) { return (run.byName.get(name) || { curves: [] }).curves; });
      return Math.max.apply(null, all.filter(function (one) { return one.name === curve; }).map(function (one) { return one.top; }));
    }

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
              encoding: { x: Object.assign({}, x, last ? { title: "time (" + film.clock + ")" } : {}), y: { field: "v", type: "quantitative", title: curve.name, scale: { domain: [0, top(about.name, curve.name)] }, axis: paused ? { labels: false, ticks: false, grid: false, titleAngle: 0, titleAlign: "right", titleBaseline: "middle" } : { tickCount: 3, minExtent: 52 } } } },
            rule],
        };
      });
      return { vconcat: parts, spacing: 6, params: [{ name: "now", value: 0 }], config: config, description: about.name };
    }

    function facts(about) {
      const list = element("dl");
      for (const [name, value] of about.facts) {
        const pair = element("div");
        pair.append(element("dt", name), element("dd", value));
        list.appendChild(pair);
      }
      said.appendChild(list);
    }

    // Draw curves; the promise has the view and its place, which are removed with the next choice.
    function curves(run, about) {
      if (!about.curves.length || !window.vegaEmbed) {
        said.appendChild(element("p", "Its samples are all 0, or were not recorded.", "note"));
        return null;
      }
      const drawn = element("div", undefined, "chart");
      drawn.setAttribute("role", "group");
      drawn.setAttribute("aria-label", "curves over time of " + about.name);
      said.appendChild(drawn);
      if (run.note) said.appendChild(element("p", "A rate is the mean over a step: " + run.note + ".", "note"));
      return window.vegaEmbed(drawn, chart(about, said.clientWidth), Object.assign({}, backwater.embed, { actions: false })).then(function (made) {
        return [made.view, drawn];
      });
    }

    function waits(about) {
      said.appendChild(element("h4", about.edge === undefined ? "What its last byte waited for" : "What last bytes of flows waited for here"));
      if (!about.waits.length) {
        said.appendChild(element("p", film.waits ? "Nothing." : "Not recorded (output.waits).", "note"));
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
      const of = about.delay_us === undefined ? "These are only the waits that delayed the last byte of a flow."
        : about.delay_us === null ? "It is not complete: these are its waits until the end of the run."
        : "These are only the waits that delayed its last byte; together they are its delay, " + about.delay_us.toFixed(2) + " us.";
      said.appendChild(element("p", of + " Other packets may have waited longer.", "note"));
    }

    function show(name) {
      said.replaceChildren();
      const mine = ++latest;
      for (const forget of drawings.splice(0)) forget();
      mark(name);
      select.value = name || "";
      if (!name) return;
      said.appendChild(element("h3", name));
      const pending = [];
      for (const run of runs) {
        const about = run.byName.get(name);
        if (runs.length > 1) said.appendChild(element("h4", run.label, "run"));
        if (!about) {
          said.appendChild(element("p", "The page does not have it for this run.", "note"));
          continue;
        }
        facts(about);
        const made = curves(run, about);
        if (made) pending.push(made);
        waits(about);
      }
      Promise.all(pending).then(function (all) {
        for (const [view, drawn] of all) {
          if (mine !== latest) view.finalize();
          else drawings.push(backwater.add(view, drawn, film.clock_ps));
        }
        if (mine === latest) said.dataset.shown = name;
      }).catch(function (error) { console.error(error); });
    }

    const fabrics = Array.from(root.querySelectorAll(".track .wide svg"), function (svg) {
      const halo = document.createElementNS("http://www.w3.org/2000/svg", "line");
      halo.setAttribute("class", "halo");
      halo.setAttribute("visibility", "hidden");
      svg.querySelector(".links").after(halo);
      return { svg: svg, lines: Array.from(svg.querySelectorAll(".links > line")), halo: halo };
    });
    function mark(name) {
      fabrics.forEach(function (fabric, number) {
        const about = name && runs[number].byName.get(name);
        const line = about && about.edge !== undefined && about.edge !== null ? fabric.lines[about.edge] : null;
        fabric.halo.setAttribute("visibility", line ? "visible" : "hidden");
        if (line) for (const key of ["x1", "y1", "x2", "y2"]) fabric.halo.setAttribute(key, line.getAttribute(key));
      });
    }

    function nearest(fabric, byEdge, event) {
      const svg = fabric.svg, at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = null, least = Infinity;
      fabric.lines.forEach(function (line, i) {
        if (!byEdge.has(i)) return;
        const [ax, ay, bx, by] = ["x1", "y1", "x2", "y2"].map(function (name) { return Number(line.getAttribute(name)); });
        const dx = bx - ax, dy = by - ay;
        const share = Math.max(0.02, Math.min(0.98, ((at.x - ax) * dx + (at.y - ay) * dy) / (dx * dx + dy * dy || 1)));
        // Of the two directions of a link, choose the one whose sender is nearer.
        const away = Math.hypot(ax + share * dx - at.x, ay + share * dy - at.y) + 3 * share;
        if (away < least) { least = away; best = i; }
      });
      const reach = 16 * svg.viewBox.baseVal.width / svg.getBoundingClientRect().width;
      return least < Math.max(10, reach) ? byEdge.get(best).name : null;
    }
    fabrics.forEach(function (fabric, number) {
      fabric.svg.style.cursor = "pointer";
      fabric.svg.addEventListener("click", function (event) { show(nearest(fabric, runs[number].byEdge, event)); });
    });
    select.addEventListener("change", function () { show(select.value); });
    root.pick = function (name) {
      const flow = runs.flatMap(function (run) { return run.flows; }).find(function (one) { return one.group === name; });
      const known = runs.some(function (run) { return run.byName.has(name); });
      if (known || flow) { show(known ? name : flow.name); place.scrollIntoView({ block: "nearest" }); }
    };
    // Begin with the port with the deepest queue.
    if (runs[0].ports.length) show(runs[0].ports[0].name);
  }
})();
