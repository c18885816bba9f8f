#pragma once
// The page that plays a film; @TITLE@ and @FILM@ stand for what it is about.
#include <string_view>

namespace skep {

constexpr std::string_view page_html = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>@TITLE@</title>
<style>
  :root { --paper: #ffffff; --panel: #f5f7fa; --ink: #1f2933; --soft: #616e7c; --line: #d9dee4;
          --track: #e4e7eb; --accent: #2f6fde; color-scheme: light; }
  :root[data-theme="dark"] { --paper: #14181d; --panel: #1b2128; --ink: #f0f3f6; --soft: #9aa5b1;
          --line: #2f3841; --track: #2b333b; --accent: #6ea8ff; color-scheme: dark; }
  * { box-sizing: border-box; }
  body { margin: 0; background: var(--paper); color: var(--ink);
         font: 15px/1.45 Inter, "Helvetica Neue", Arial, sans-serif; }
  main { max-width: 1120px; margin: 0 auto; padding: 24px; display: grid; gap: 20px;
         grid-template-columns: minmax(0, 1fr) 300px; }
  header { grid-column: 1 / -1; display: flex; align-items: baseline; gap: 16px; flex-wrap: wrap; }
  h1 { font-size: 22px; margin: 0; }
  .soft { color: var(--soft); }
  #stage { width: 100%; max-height: 74vh; }
  #wires path { fill: none; stroke-width: 1.5; opacity: .38; }
  #ranks .hole { fill: var(--panel); stroke: var(--line); }
  #ranks text { fill: var(--ink); font-weight: 600; text-anchor: middle; }
  #ranks .track { fill: none; stroke: var(--track); }
  #pieces circle { stroke: var(--paper); stroke-width: 1.5; }
  aside { background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
          padding: 14px 16px; max-height: 74vh; overflow: auto; }
  aside h2 { font-size: 15px; margin: 0 0 2px; }
  ol { list-style: none; padding: 0; margin: 10px 0 0; font-variant-numeric: tabular-nums; }
  li { padding: 2px 0; display: flex; gap: 8px; align-items: center; }
  li i { width: 10px; height: 10px; border-radius: 3px; flex: none; }
  footer { grid-column: 1 / -1; display: flex; gap: 10px; align-items: center; }
  button, select { font: inherit; color: var(--ink); background: var(--panel); cursor: pointer;
                   border: 1px solid var(--line); border-radius: 8px; padding: 6px 12px; }
  #play { min-width: 84px; background: var(--accent); color: var(--paper); border: 0; }
  #position { flex: 1; accent-color: var(--accent); }
  #theme { margin-left: auto; }
  @media (max-width: 800px) { main { grid-template-columns: 1fr; } }
</style>
</head>
<body>
<main>
  <header><h1>@TITLE@</h1><span class="soft" id="facts"></span>
    <button id="theme" aria-label="dark or light">dark / light</button></header>
  <svg id="stage" viewBox="-320 -320 640 640" role="img" aria-label="ranks and what they send">
    <g id="wires"></g><g id="ranks"></g><g id="pieces"></g></svg>
  <aside><h2 id="round"></h2><div class="soft" id="what"></div><ol id="list"></ol></aside>
  <footer>
    <button id="play">Play</button>
    <button id="back" aria-label="round before">&#9664;</button>
    <button id="next" aria-label="next round">&#9654;</button>
    <input id="position" type="range" min="0" value="0" step="0.01" aria-label="position"/>
    <span class="soft" id="clock"></span>
    <select id="speed" aria-label="speed"><option value="0.5">slow</option>
      <option value="1" selected="selected">normal</option><option value="3">fast</option></select>
  </footer>
</main>
<script id="film" type="application/json">@FILM@</script>
<script>
"use strict";
const film = JSON.parse(document.getElementById("film").textContent);
const $ = id => document.getElementById(id);
const draw = (parent, name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  parent.appendChild(element);
  return element;
};
const rounds = film.rounds.length, circle = 244;
const radius = Math.min(52, Math.max(9, 0.36 * 2 * Math.PI * circle / film.ranks));
const thick = radius * 0.34;
const place = rank => {
  const angle = 2 * Math.PI * rank / film.ranks - Math.PI / 2;
  return film.ranks === 1 ? [0, 0] : [circle * Math.cos(angle), circle * Math.sin(angle)];
};

// One ring a rank, one arc a cell: its opacity tells how many contributions are in.
const arcs = [];
for (let rank = 0; rank < film.ranks; ++rank) {
  const [x, y] = place(rank), group = draw($("ranks"), "g", { transform: `translate(${x} ${y})` });
  draw(group, "circle", { class: "hole", r: radius });
  draw(group, "circle", { class: "track", r: radius - thick / 2, "stroke-width": thick });
  const at = element => {
    const angle = 2 * Math.PI * element / film.count - Math.PI / 2, r = radius - thick / 2;
    return `${r * Math.cos(angle)} ${r * Math.sin(angle)}`;
  };
  arcs.push(film.cells.map(cell => {
    const share = (cell.end - cell.begin) / film.count, r = radius - thick / 2;
    if (share > 0.999) return draw(group, "circle", { r, fill: "none", stroke: cell.color, "stroke-width": thick });
    return draw(group, "path", { d: `M${at(cell.begin)}A${r} ${r} 0 ${share > 0.5 ? 1 : 0} 1 ${at(cell.end)}`,
                                 fill: "none", stroke: cell.color, "stroke-width": thick });
  }));
  draw(group, "text", { "font-size": Math.max(8, radius * 0.5), dy: "0.35em" }).textContent = rank;
}

// A wire bends towards the centre, to one side, so that there and back are two lines.
const bend = arrow => {
  const [x1, y1] = place(arrow.from), [x2, y2] = place(arrow.to);
  const cut = radius + 4, mx = (x1 + x2) / 2 * 0.8 - (y2 - y1) * 0.1, my = (y1 + y2) / 2 * 0.8 + (x2 - x1) * 0.1;
  const towards = (x, y) => {
    const length = Math.hypot(mx - x, my - y) || 1;
    return [x + (mx - x) * cut / length, y + (my - y) * cut / length];
  };
  return [towards(x1, y1), [mx, my], towards(x2, y2)];
};
const along = ([a, b, c], t) => [0, 1].map(k => (1 - t) ** 2 * a[k] + 2 * t * (1 - t) * b[k] + t * t * c[k]);

let shown = -1, pieces = [];
function show_round(index) {
  shown = index;
  for (const id of ["wires", "pieces", "list"]) $(id).replaceChildren();
  pieces = [];
  const end = index === rounds, round = film.rounds[index];
  $("round").textContent = end ? "Done" : `Round ${index + 1} of ${rounds}`;
  $("what").textContent = end ? "Every ring shows what its rank holds now."
    : `${round.adds ? "added" : "stored"} on arrival, ${round.us.toFixed(1)} \u00b5s predicted`;
  if (end) return;
  for (const arrow of round.arrows) {
    const curve = bend(arrow), [a, b, c] = curve;
    draw($("wires"), "path", { d: `M${a}Q${b} ${c}`, stroke: arrow.color });
    const share = (arrow.end - arrow.begin) / film.count;
    pieces.push([draw($("pieces"), "circle", { r: 3 + Math.min(9, radius * 0.25) * Math.sqrt(share), fill: arrow.color }), curve]);
  }
  for (const arrow of round.arrows.slice(0, 200)) {
    const line = document.createElement("li"), swatch = document.createElement("i");
    swatch.style.background = arrow.color;
    line.append(swatch, `${arrow.from} \u2192 ${arrow.to}`, Object.assign(document.createElement("span"),
      { className: "soft", textContent: `${arrow.begin}\u2013${arrow.end}` }));
    $("list").append(line);
  }
  if (round.arrows.length > 200) $("list").append(`and ${round.arrows.length - 200} more`);
}

const opacity = held => held === 0 ? 0 : held >= film.complete ? 1 : 0.25 + 0.5 * held / film.complete;
let position = 0;
function show(at) {
  position = Math.min(Math.max(at, 0), rounds);
  const index = Math.floor(position), t = position - index;
  if (index !== shown) {
    show_round(index);
    arcs.forEach((row, rank) => row.forEach((arc, c) => arc.setAttribute("opacity", opacity(film.held[index][rank][c]))));
  }
  const smooth = t * t * (3 - 2 * t);
  for (const [piece, curve] of pieces) {
    const [x, y] = along(curve, smooth);
    piece.setAttribute("cx", x);
    piece.setAttribute("cy", y);
  }
  const done = film.rounds.reduce((sum, round, i) => sum + round.us * Math.min(1, Math.max(0, position - i)), 0);
  $("clock").textContent = `${done.toFixed(1)} \u00b5s`;
  $("position").value = position;
}

let playing = false, last = 0;
function frame(now) {
  if (!playing) return;
  show(position + (now - last) / 1400 * Number($("speed").value));
  last = now;
  if (position >= rounds) play(false); else requestAnimationFrame(frame);
}
function play(on) {
  playing = on;
  $("play").textContent = on ? "Pause" : "Play";
  if (!on) return;
  if (position >= rounds) show(0);
  last = performance.now();
  requestAnimationFrame(frame);
}
const jump = to => { play(false); show(to); };
$("play").onclick = () => play(!playing);
$("back").onclick = () => jump(Math.ceil(position) - 1);
$("next").onclick = () => jump(Math.floor(position) + 1);
$("position").max = rounds;
$("position").oninput = event => jump(Number(event.target.value));
document.onkeydown = event => {
  if (event.target.tagName === "SELECT") return;
  const keys = { " ": () => play(!playing), ArrowLeft: $("back").onclick, ArrowRight: $("next").onclick };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
};
const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
$("theme").onclick = () => { root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; };
const total = film.rounds.reduce((sum, round) => sum + round.us, 0);
$("facts").textContent = `${film.ranks} ranks, ${4 * film.count} bytes, ${rounds} rounds, ${total.toFixed(1)} \u00b5s predicted` +
  (film.groups.length > 1 ? `, groups ${film.groups.map(g => g.join(" ")).join(" | ")}` : "");
show(0);
</script>
</body>
</html>
)page";

}  // namespace skep
