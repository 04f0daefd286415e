"use strict";
/* The interactive parts of a report: theme, sorting, copying, values of marks on demand. */
(() => {
  const root = document.documentElement;
  const kept = {
    get: name => { try { return localStorage.getItem(`nettrial-${name}`) } catch { return null } },
    set: (name, value) => { try { localStorage.setItem(`nettrial-${name}`, value) } catch { /* not kept */ } },
  };
  const every = (selector, within = document) => [...within.querySelectorAll(selector)];
  const made = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const THEMES = ["system", "light", "dark"];
  const theme = name => { name === "system" ? delete root.dataset.theme : root.dataset.theme = name };
  let chosen = [kept.get("theme"), root.dataset.theme, "system"].find(name => THEMES.includes(name));
  theme(chosen);
  root.classList.add("scripted");
  root.classList.toggle("every-trial", kept.get("trials") === "shown");

  let tip, spoken;
  const say = text => { spoken.textContent = text };

  function controls() {
    const themes = document.getElementById("theme"), trials = document.getElementById("trials");
    const label = () => { themes.textContent = `Theme: ${chosen}` };
    themes.onclick = () => {
      chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
      theme(chosen);
      kept.set("theme", chosen);
      label();
    };
    label();
    if (trials) {
      trials.setAttribute("aria-pressed", root.classList.contains("every-trial"));
      trials.onclick = () => {
        const shown = root.classList.toggle("every-trial");
        trials.setAttribute("aria-pressed", shown);
        kept.set("trials", shown ? "shown" : "hidden");
      };
    }
    every(".controls [hidden]").forEach(button => { button.hidden = false });
  }

  /* Tables: a heading sorts in ascending, then in descending, then in the original order. */
  const key = cell => {
    const text = (cell?.dataset.value ?? cell?.textContent ?? "").trim().replaceAll("\u2212", "-");
    const number = parseFloat(text.replace(/^[^\d+-]+(?=[\d.])/, ""));
    return { text, number };
  };
  const compare = (a, b) =>
    Number.isNaN(a.number) || Number.isNaN(b.number)
      ? Number.isNaN(a.number) - Number.isNaN(b.number) || a.text.localeCompare(b.text, undefined, { numeric: true })
      : a.number - b.number || a.text.localeCompare(b.text);
  const at = (row, column) => {
    let left = column;
    for (const cell of row.cells) {
      if ((left -= cell.colSpan) < 0) return cell;
    }
  };
  function sortable(table) {
    const body = table.tBodies[0], before = [...body.rows];
    if (before.length < 2) return;
    let column = 0;
    const headings = [];
    for (const cell of table.tHead.rows[table.tHead.rows.length - 1].cells) {
      const place = column;
      column += cell.colSpan;
      if (cell.tagName !== "TH" || !cell.textContent.trim()) continue;
      const button = made("button", { type: "button", className: "sort", title: "Sort" });
      button.append(...cell.childNodes);
      cell.append(button);
      headings.push(cell);
      button.onclick = () => {
        const next = { ascending: "descending", descending: null }[cell.ariaSort] ?? (cell.ariaSort ? null : "ascending");
        headings.forEach(heading => heading.removeAttribute("aria-sort"));
        const rows = next ? before.toSorted((a, b) => compare(key(at(a, place)), key(at(b, place)))) : before;
        if (next) cell.ariaSort = next;
        body.append(...(next === "descending" ? rows.toReversed() : rows));
        say(`${button.textContent.trim()}: ${next ? `sorted ${next}` : "in the order of the study"}`);
      };
    }
  }

  /* Narrow windows show each row of a table as a card: cells get the heading that begins above them as a label. */
  function labelled(table) {
    const labels = new Map();
    let column = 0;
    for (const cell of table.tHead.rows[0].cells) {
      labels.set(column, cell.textContent.trim());
      column += cell.colSpan;
    }
    table.setAttribute("role", "table"); /* which a table that is displayed as blocks no longer has */
    for (const row of table.tBodies[0].rows) {
      row.setAttribute("role", "row");
      column = 0;
      for (const cell of row.cells) {
        cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
        if (column && labels.get(column)) cell.dataset.label = labels.get(column);
        column += cell.colSpan;
      }
    }
  }

  /* Copying: the page contains the texts, generated together with the tables. */
  const FORMS = { csv: "CSV", markdown: "Markdown", latex: "LaTeX" };
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = made("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }
  function copying() {
    const texts = JSON.parse(document.getElementById("copies")?.textContent || "{}");
    for (const [name, forms] of Object.entries(texts)) {
      const place = document.getElementById(`copy-${name}`);
      if (!place) continue;
      place.replaceChildren("Copy as ");
      for (const [form, text] of Object.entries(forms)) {
        const label = FORMS[form] ?? form;
        const button = made("button", { type: "button", textContent: label });
        button.onclick = async () => {
          await copy(text);
          say(`Copied as ${label}`);
          button.classList.add("done");
          setTimeout(() => button.classList.remove("done"), 1500);
        };
        place.append(button, " ");
      }
    }
  }

  /* Charts: the mark nearest to the pointer, or selected by the arrow keys, shows its value. */
  const seen = marks => marks.filter(mark => mark.getClientRects().length);
  function middle(mark) {
    const box = mark.getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }
  function hide() {
    tip.classList.remove("shown");
    every(".at").forEach(mark => mark.classList.remove("at"));
  }
  function show(mark) {
    if (mark.classList.contains("at")) return;
    hide();
    mark.classList.add("at");
    tip.textContent = mark.dataset.said;
    tip.style.left = 0; /* the room on its right limits its width */
    tip.classList.add("shown");
    const { x, y } = middle(mark), width = tip.offsetWidth, room = root.clientWidth;
    const above = y - tip.offsetHeight - 14;
    tip.style.left = `${scrollX + Math.max(8, Math.min(x - width / 2, room - width - 8))}px`;
    tip.style.top = `${scrollY + (above < 0 ? y + 14 : above)}px`;
  }
  function readable(chart) {
    const picture = chart.querySelector("svg[role=img]");
    const marks = every("[data-said]", chart);
    if (!marks.length) return;
    chart.tabIndex = 0;
    chart.setAttribute("role", "application");
    chart.setAttribute("aria-roledescription", "chart");
    chart.setAttribute("aria-label", `${picture.getAttribute("aria-label")} Arrow keys read its values.`);
    let now = -1;
    chart.onpointermove = chart.onpointerdown = event => {
      let best = null, least = 20 ** 2;
      for (const mark of seen(marks)) {
        const { x, y } = middle(mark), distance = (x - event.clientX) ** 2 + (y - event.clientY) ** 2;
        if (distance < least) [best, least] = [mark, distance];
      }
      best ? show(best) : hide();
    };
    chart.onpointerleave = hide;
    chart.onblur = hide;
    chart.onkeydown = event => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const shown = seen(marks);
      if (event.key === "Escape") return hide();
      if (step) now = (now + step + shown.length) % shown.length;
      else if (event.key === "Home") now = 0;
      else if (event.key === "End") now = shown.length - 1;
      else return;
      event.preventDefault();
      show(shown[now]);
      say(shown[now].dataset.said);
    };
  }

  /* A click on a link that is replaced while the button is down leads nowhere. */
  let pressed = false;
  addEventListener("pointerdown", () => { pressed = true }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressed = false }, true);

  /* The page of a run in progress asks for newer versions. */
  async function newer() {
    const { live } = document.body.dataset;
    if (!live) return;
    const state = document.getElementById("live");
    try {
      const version = await (await fetch("version", { cache: "no-store" })).text();
      if (version !== document.body.dataset.live) {
        const text = await (await fetch("./", { cache: "no-store" })).text();
        if (!pressed) replace(new DOMParser().parseFromString(text, "text/html"));
      } else if (state.dataset.lost) {
        delete state.dataset.lost;
        state.textContent = "Watching.";
      }
    } catch {
      state.dataset.lost = "yes";
      state.textContent = "The server has stopped: this is the last state.";
    }
    setTimeout(newer, 1000);
  }
  function replace(fresh) {
    const open = new Set(every("details[open]").map(part => part.dataset.key));
    const focus = document.activeElement?.id, { scrollX: x, scrollY: y } = window;
    hide();
    for (const part of ["header", "main"]) {
      document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
    }
    document.getElementById("copies").textContent = fresh.getElementById("copies").textContent;
    document.body.dataset.live = fresh.body.dataset.live;
    every("details").forEach(part => { part.open ||= open.has(part.dataset.key) });
    enhance();
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    scrollTo(x, y);
    say(document.getElementById("live").textContent);
  }

  /* Mark elements that are wider than the window. */
  function wide() {
    for (const part of every(".scroll, .chart")) part.classList.toggle("scrolls", part.scrollWidth > part.clientWidth + 1);
  }

  function enhance() {
    controls();
    wide();
    every("table.sortable").forEach(labelled);
    every("table.sortable").forEach(sortable);
    copying();
    every(".chart").forEach(readable);
  }
  document.addEventListener("DOMContentLoaded", () => {
    tip = made("div", { id: "tip", ariaHidden: "true" });
    spoken = made("div", { id: "spoken", role: "status" });
    document.body.append(tip, spoken);
    enhance();
    addEventListener("resize", () => { hide(); wide() });
    setTimeout(newer, 1000);
  });
})();
