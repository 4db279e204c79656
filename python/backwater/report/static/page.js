"use strict";
// What parts of the page tell one another: the time that the slider shows, and what the reader picks.
const backwater = {
  now: 0, views: new Set(), films: [],
  // Move the line on charts that are on screen; the others follow when they come into sight.
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
  // Charts over time are as wide as there is room, so that the same time stands in the same place.
  widen: function (spec, room) {
    const named = /held/.test((spec.title && spec.title.text) || "") ? 150 : 116;
    for (const view of spec.vconcat || [spec.spec || spec]) view.width = Math.max(180, room - named);
  },
  embed: { renderer: "svg", logLevel: 1, actions: { export: true, source: false, compiled: false, editor: false } },
};

// Charts come alive when they are first seen; until then, and on paper, they are the drawing made beforehand.
(function () {
  if (!window.vegaEmbed || !window.IntersectionObserver) return;
  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const place = entry.target;
      seen.unobserve(place);
      const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
      if (place.dataset.clock) backwater.widen(spec, place.parentNode.clientWidth);
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
