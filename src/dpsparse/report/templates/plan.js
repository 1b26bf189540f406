"use strict";
(() => {
  const grid = JSON.parse(document.getElementById("grid").textContent);
  const at = (id) => document.getElementById(id);
  const NAMES = ["epsilon", "rows", "coefficients"];
  const COLOURS = { useful: "yes", borderline: "wait", hopeless: "no", unknown: "wait" };
  const LEFT = 58, RIGHT = 12, TOP = 12, BOTTOM = 46, WIDTH = 520, HEIGHT = 300;
  const number = (value) => Number(value.toPrecision(2)).toString();
  const percent = (value) => (100 * value).toFixed(1) + " %";

  function draw(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    at("plot").append(made);
  }

  function picture(cells, chosen) {
    const plot = at("plot");
    plot.querySelectorAll(":scope > :not(title)").forEach((old) => old.remove());
    const logs = grid.epsilons.map(Math.log), first = logs[0], last = logs[logs.length - 1];
    const top = Math.max(grid.constant, ...cells.map((cell) => cell[2] ?? 0)) * 1.05;
    const x = (k) => LEFT + (WIDTH - LEFT - RIGHT) * (logs[k] - first) / (last - first);
    const y = (value) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top;
    for (let k = 0; k <= 4; k++) {
      const value = top * k / 4;
      draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), stroke: "#d5d9de" });
      draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value));
    }
    grid.epsilons.forEach((epsilon, k) => {
      draw("text", { x: x(k), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, epsilon);
    });
    draw("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "epsilon");
    const known = cells.map((cell, k) => [cell, k]).filter(([cell]) => cell[0] !== null);
    const line = (which) => known.map(([cell, k]) => x(k).toFixed(1) + "," + y(cell[which]).toFixed(1));
    draw("polygon", { points: [...line(0), ...line(2).reverse()].join(" "), fill: "#1b5e9e", "fill-opacity": 0.2 });
    draw("polyline", { points: line(1).join(" "), fill: "none", stroke: "#1b5e9e", "stroke-width": 2.5 });
    const level = y(grid.constant);
    draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: level, y2: level, stroke: "#4a4a4a", "stroke-dasharray": "6 4" });
    if (cells[chosen][1] !== null) {
      draw("line", { x1: x(chosen), x2: x(chosen), y1: TOP, y2: HEIGHT - BOTTOM, stroke: "#4a4a4a" });
      draw("circle", { cx: x(chosen), cy: y(cells[chosen][1]), r: 5, fill: "#1b5e9e" });
    }
  }

  function show() {
    const [epsilon, rows, count] = NAMES.map((name) => Number(at(name).value));
    const said = [String(grid.epsilons[epsilon]), grid.rows[rows].toLocaleString("en"), grid.coefficients[count]];
    NAMES.forEach((name, k) => {
      at(name + "-value").textContent = said[k];
      at(name).setAttribute("aria-valuetext", said[k]);
    });
    const signal = at("signal") ? Number(at("signal").value) : 0;
    const cells = grid.cells[count][rows].map((cell) => cell[signal]), [low, typical, high, verdict, why] = cells[epsilon];
    at("answer").className = "answer plan " + COLOURS[verdict];
    const condition = verdict === "useful" && why.startsWith("Useful if") ? ", on one condition." : ".";
    at("verdict").textContent = verdict[0].toUpperCase() + verdict.slice(1) + condition;
    at("why").textContent = why;
    at("typical").textContent = typical === null ? "unknown" : number(typical);
    at("band").textContent = typical === null ? "unknown" : number(low) + " to " + number(high);
    at("success").textContent = percent(grid.success[count][epsilon]);
    at("plot-title").textContent = "Expected error by epsilon, with " + said[1] + " rows: " + at("band").textContent +
      " at epsilon " + said[0];
    picture(cells, epsilon);
  }

  for (const name of [...NAMES, "signal"]) at(name)?.addEventListener("input", show);
  at("sliders").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["sliders", "answer", "picture"]) at(id).hidden = false;
  show();
})();
