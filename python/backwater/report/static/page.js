"use strict";
// State that parts of the page share: the time of the slider, and live charts and films.
const backwater = {
  now: 0, views: new Set(), films: [],
  // Move the line on charts that are on screen; the others follow when they scroll into view.
  move: function (us) {
    backwater.now = us;
    for (const one of backwater.views) if (one.seen) backwater.place(one);
  },
  place: function (one) {
    if (one.at === backwater.now) return;
    one.at = backwater.now;
    one.view.signal("now", backwater.now * 1e6 / one.clock).runAsync();
  },
  add: function (view, place, clock) {
    const one = { view: view, clock: clock, at: null, seen: true };
    const sight = new IntersectionObserver(function (entries) {
      one.seen = entries[entries.length - 1].isIntersecting;
      if (one.seen) backwater.place(one);
    });
    sight.observe(place);
    backwater.views.add(one);
    backwater.place(one);
    return function () { sight.disconnect(); backwater.views.delete(one); view.finalize(); };
  },
  // Charts over time use the full width, so that they have the same times at the same places.
  widen: function (spec, room) {
    const named = /held/.test((spec.title && spec.title.text) || "") ? 150 : 116;
    for (const view of spec.vconcat || [spec.spec || spec]) view.width = Math.max(180, room - named);
  },
  // A chart in a narrow column: its panels go one below the other, titles and legends break.
  narrow: function (spec, room) {
    const broken = function (text, size) {
      const most = Math.max(12, Math.floor(room / size)), lines = [];
      for (const part of [].concat(text)) {
        let line = "";
        for (const word of part.split(" ")) {
          if (line && line.length + word.length >= most) { lines.push(line); line = word; } else line = line ? line + " " + word : word;
        }
        lines.push(line);
      }
      return lines;
    };
    // The length of the longest name of a row: names on the left narrow the chart.
    const longestName = function (one) {
      const y = one.encoding && one.encoding.y;
      let longest = 0;
      if (y && y.type === "nominal" && y.axis !== null) {
        const data = one.data || spec.data || {}, rows = data.values || (spec.datasets || {})[data.name] || [];
        for (const row of rows) longest = Math.max(longest, String(row[y.field]).length);
      }
      for (const name of ["layer", "vconcat", "hconcat", "concat"]) for (const part of one[name] || []) longest = Math.max(longest, longestName(part));
      return one.spec ? Math.max(longest, longestName(one.spec)) : longest;
    };
    const view = function (one, inside) {
      if (one.hconcat) {
        one.vconcat = one.hconcat;
        delete one.hconcat;
        // Only the first panel has the names of rows.
        for (const part of one.vconcat) if (part.encoding && part.encoding.y && part.encoding.y.axis === null) delete part.encoding.y.axis;
      }
      if (one.title) {
        if (typeof one.title === "string") one.title = { text: one.title };
        if (one.title.text) one.title.text = broken(one.title.text, 10.4);
        if (one.title.subtitle) one.title.subtitle = broken(one.title.subtitle, 6.6);
      }
      const facet = one.facet || one.encoding;
      if (facet && facet.column) {
        const column = facet.column;
        if (facet.row) { facet.column = facet.row; delete facet.row; } else delete facet.column;
        facet.row = Object.assign({}, column, { header: { labelAngle: 0, labelAlign: "left", labelOrient: "top", title: null } });
      }
      if (typeof one.width === "number") one.width = Math.max(90, Math.min(one.width, room - inside));
      if (one.encoding) for (const name of ["color", "fill", "stroke", "shape", "strokeDash"]) {
        const about = one.encoding[name];
        if (!about || !about.field || about.legend === null) continue;
        const names = about.scale && about.scale.domain;
        const longest = Array.isArray(names) ? Math.max.apply(null, names.map(function (text) { return String(text).length; })) : 12;
        // A colour scale beside the chart would be outside the page.
        if (about.legend && about.legend.orient === "right") {
          about.legend = Object.assign({}, about.legend, { orient: "top", direction: "horizontal", titleLimit: room - 20, gradientLength: Math.min(180, room - 60) });
          continue;
        }
        about.legend = Object.assign({}, about.legend, { columns: Math.max(1, Math.floor(room / (40 + 6.8 * longest))), labelLimit: room - 40 });
      }
      const y = one.encoding && one.encoding.y;
      // A second line for text in brackets, and for the part of a metric after its colon: one line would be cut.
      if (y && y.type === "nominal" && y.axis !== null) y.axis = Object.assign({ labelLimit: inside > 84 ? 140 : 110, labelExpr: "split(replace(length(datum.label) > 18 ? replace(datum.label, ':', ':\\n') : datum.label, ' (', '\\n('), '\\n')" }, y.axis);
      if (y && y.title && y.title.length > 26) y.title = broken(y.title, room / 24);
      for (const name of ["layer", "vconcat", "concat"]) for (const part of one[name] || []) view(part, inside);
      if (one.spec) view(one.spec, inside);
    };
    const config = spec.config || (spec.config = {});
    config.view = Object.assign({}, config.view, { continuousWidth: Math.max(120, room - 80) });
    config.axis = Object.assign({}, config.axis, { labelLimit: 110 });
    view(spec, longestName(spec) > 10 ? 130 : 84);
  },
  embed: { renderer: "svg", logLevel: 1, tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
    actions: { export: true, source: false, compiled: false, editor: false } },
};

// Charts become live when they first scroll into view. Until then, and on paper, they are static drawings.
(function () {
  if (!window.vegaEmbed || !window.IntersectionObserver) return;
  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (!entry.isIntersecting || !entry.target.parentNode.clientWidth) continue;
      const place = entry.target;
      seen.unobserve(place);
      const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
      const room = place.parentNode.clientWidth;
      if (room < 620) backwater.narrow(spec, room - 8);
      else if (place.dataset.clock) backwater.widen(spec, room);
      const live = document.createElement("div");
      live.style.cssText = "position:absolute;visibility:hidden";
      place.parentNode.appendChild(live);
      window.vegaEmbed(live, spec, backwater.embed).then(function (made) {
        live.style.cssText = "";
        place.replaceChildren(live);
        place.dataset.live = "yes";
        if (place.dataset.clock) backwater.add(made.view, place, Number(place.dataset.clock));
        const film = place.closest(".film");
        if (film) made.view.addEventListener("click", function (event, item) {
          const about = item && item.datum;
          if (about && film.pick) film.pick(about.collective || about.link || "");
        });
      }).catch(function (error) { live.remove(); console.error(error); });
    }
  }, { rootMargin: "300px" });
  for (const place of document.querySelectorAll("[data-spec]")) seen.observe(place);
})();
