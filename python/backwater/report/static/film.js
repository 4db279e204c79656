"use strict";
// The fabric over time: only elements that change from one step to the next are updated.
(function () {
  // Zoom by buttons, by the keys + - 0, and by the wheel with Ctrl; an enlarged drawing can be dragged.
  function zooming(root) {
    const drawings = Array.from(root.querySelectorAll(".fabric"));
    const whole = drawings[0].viewBox.baseVal, width = whole.width, height = whole.height;
    const at = { x: 0, y: 0, share: 1 };
    function set(share, x, y) {
      at.share = Math.max(0.08, Math.min(1, share));
      at.x = Math.max(0, Math.min(width * (1 - at.share), x));
      at.y = Math.max(0, Math.min(height * (1 - at.share), y));
      for (const svg of drawings) {
        svg.setAttribute("viewBox", [at.x, at.y, width * at.share, height * at.share].join(" "));
        svg.classList.toggle("zoomed", at.share < 1);
        svg.classList.toggle("near", at.share < 0.55);
      }
      root.dataset.zoom = (1 / at.share).toFixed(2);
    }
    // Zoom around a point, given in shares of the visible part.
    function by(factor, px, py) {
      const share = Math.max(0.08, Math.min(1, at.share * factor));
      set(share, at.x + px * width * (at.share - share), at.y + py * height * (at.share - share));
    }
    root.querySelector(".in").addEventListener("click", function () { by(0.7, 0.5, 0.5); });
    root.querySelector(".out").addEventListener("click", function () { by(1 / 0.7, 0.5, 0.5); });
    root.querySelector(".all").addEventListener("click", function () { set(1, 0, 0); });
    root.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.target.tagName === "SELECT") return;
      if (event.key === "+") by(0.7, 0.5, 0.5);
      else if (event.key === "-") by(1 / 0.7, 0.5, 0.5);
      else if (event.key === "0") set(1, 0, 0);
    });
    // A drag is not a click on a link.
    let pulled = 0;
    for (const svg of drawings) {
      svg.addEventListener("pointerdown", function () { pulled = 0; });
      svg.addEventListener("click", function (event) {
        if (pulled > 6) event.stopImmediatePropagation();
        pulled = 0;
      }, true);
      svg.addEventListener("wheel", function (event) {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const box = svg.getBoundingClientRect();
        by(event.deltaY < 0 ? 0.85 : 1 / 0.85, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
      }, { passive: false });
      svg.addEventListener("pointermove", function (event) {
        if (!(event.buttons & 1) || at.share === 1) return;
        const scale = width * at.share / svg.getBoundingClientRect().width;
        pulled += Math.abs(event.movementX) + Math.abs(event.movementY);
        set(at.share, at.x - event.movementX * scale, at.y - event.movementY * scale);
      });
    }
  }

  function bytes(text) {
    return text ? Uint8Array.from(atob(text), function (letter) { return letter.charCodeAt(0); }) : null;
  }
  function time(us) {
    return us >= 10000 ? (us / 1000).toFixed(2) + " ms" : us.toFixed(us < 100 ? 1 : 0) + " us";
  }
  function size(value) {
    return value >= 1e6 ? (value / 1e6).toFixed(2) + " MB" : Math.round(value / 1e3) + " KB";
  }

  for (const root of document.querySelectorAll(".film")) {
    const film = JSON.parse(document.getElementById(root.dataset.film).textContent);
    const slider = root.querySelector("input"), output = root.querySelector("output"), button = root.querySelector("button");
    const deepest = Math.max.apply(null, film.tracks.flatMap(function (track) { return track.backlog; }).concat(1));
    const tracks = Array.from(root.querySelectorAll(".track"), function (place, number) {
      const data = film.tracks[number];
      const find = function (layer, tag) { return Array.from(place.querySelectorAll("." + layer + ">" + tag)); };
      const points = data.backlog.map(function (value, i) {
        return (1000 * (i + 1) / film.frames).toFixed(1) + " " + (46 - 44 * value / deepest).toFixed(1);
      });
      place.querySelector(".backlog").setAttribute("d", "M0 46L" + points.join("L") + "L1000 46z");
      return {
        data: data, said: place.querySelector(".said"), cursor: place.querySelector(".cursor"),
        lines: find("links", "line"), queues: find("queues", "circle"), pauses: find("pauses", "g"),
        faults: find("faults", "g"),
        busy: data.busy.map(bytes), waiting: data.waiting.map(bytes), paused: data.paused.map(bytes),
        shown: data.busy.map(function () { return [-1, -1, -1]; }),
      };
    });

    function show(frame) {
      for (const track of tracks) {
        for (let i = 0; i < track.shown.length; i++) {
          const was = track.shown[i];
          const busy = track.busy[i] ? track.busy[i][frame] : 0;
          const waiting = track.waiting[i] ? track.waiting[i][frame] : 0;
          const paused = track.paused[i] ? track.paused[i][frame] : 0;
          if (busy !== was[0]) {
            const line = track.lines[i], last = film.shades.length - 1;
            line.setAttribute("stroke", film.shades[Math.min(last, Math.floor(busy / 100 * film.shades.length))]);
            line.setAttribute("stroke-width", (film.scale * (1.2 + 0.032 * busy)).toFixed(2));
            line.setAttribute("visibility", busy ? "visible" : "hidden");
          }
          if (waiting !== was[1]) track.queues[i].setAttribute("r", (13 * Math.sqrt(film.scale * waiting / 255)).toFixed(1));
          if (paused !== was[2]) track.pauses[i].setAttribute("visibility", paused ? "visible" : "hidden");
          track.shown[i] = [busy, waiting, paused];
        }
        track.faults.forEach(function (place) {
          const [from, to] = track.data.faults[Number(place.dataset.f)];
          place.setAttribute("visibility", from <= frame && frame < to ? "visible" : "hidden");
        });
        const held = track.data.held && track.data.held[frame];
        track.said.textContent = size(track.data.backlog[frame]) + " waiting, " +
          (held === null ? "pauses not recorded" : held + (held === 1 ? " port" : " ports") + " paused");
        const x = 1000 * (frame + 1) / film.frames;
        track.cursor.setAttribute("x1", x);
        track.cursor.setAttribute("x2", x);
      }
      const us = Math.min(film.end_us, film.begin_us + (frame + 1) * film.step_us);
      output.textContent = time(us);
      slider.setAttribute("aria-valuetext", time(us));
      root.dataset.frame = frame;
      backwater.move(us);
    }

    let playing = null, began = 0;
    function tick(now) {
      if (playing === null) return;
      const frame = Math.floor((now - began) / 1000 * film.frames / 12);
      if (frame >= film.frames) { stop(); return; }
      slider.value = frame;
      show(frame);
      playing = requestAnimationFrame(tick);
    }
    function stop() {
      if (playing !== null) cancelAnimationFrame(playing);
      playing = null;
      button.textContent = "▶";
      button.setAttribute("aria-label", "play");
    }
    button.addEventListener("click", function () {
      if (playing !== null) { stop(); return; }
      const from = Number(slider.value) >= film.frames - 1 ? 0 : Number(slider.value);
      button.textContent = "❚❚";
      button.setAttribute("aria-label", "pause");
      playing = requestAnimationFrame(function (now) {
        began = now - from / film.frames * 12000;
        tick(now);
      });
    });
    function go(frame) { stop(); slider.value = frame; show(frame); }
    slider.addEventListener("input", function () { go(Number(slider.value)); });
    slider.addEventListener("keydown", function (event) {
      if (event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
    for (const strip of root.querySelectorAll(".strip")) {
      const to = function (event) {
        if (!(event.buttons & 1)) return;
        const box = strip.getBoundingClientRect();
        const frame = Math.floor((event.clientX - box.left) / box.width * film.frames);
        go(Math.max(0, Math.min(film.frames - 1, frame)));
      };
      strip.addEventListener("pointerdown", to);
      strip.addEventListener("pointermove", to);
    }
    zooming(root);
    backwater.films.push({ root: root, film: film, bytes: bytes, go: go });
    // Begin at the moment when most bytes wait: it shows more than an idle fabric.
    const first = film.tracks[0].backlog;
    go(first.indexOf(Math.max.apply(null, first)));
  }
})();
