// The views of the page, chosen by what stands behind the # of its address.

import { ask } from "./api.js";
import { failure, h } from "./dom.js";
import { showAsk } from "./ask.js";
import { showCompare, showRun } from "./kept.js";
import { showHistory } from "./history.js";
import { showDocuments } from "./documents.js";
import { showRouter } from "./router.js";

const VIEWS = {
  ask: ["Ask", showAsk],
  history: ["History", showHistory],
  kept: ["Answer", showRun],
  compare: ["Compare", showCompare],
  router: ["Router", showRouter],
  documents: ["Documents", showDocuments],
};
const main = document.getElementById("main");
let leave = () => {};

async function show() {
  const [, name = "ask", ...parts] = location.hash.split("/");
  const [title, view] = VIEWS[name] ?? VIEWS.ask;
  leave();
  leave = () => {};
  document.title = `${title} · skr`;
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.hash === `#/${["kept", "compare"].includes(name) ? "history" : name}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const place = h("div", { class: `view ${name}` });
  main.replaceChildren(place);
  try {
    const about = await ask("GET", "/api/system");
    document.getElementById("system").textContent = `${about.model} · ${about.store}`;
    leave = (await view(place, about, parts.map(decodeURIComponent))) ?? leave;
  } catch (error) {
    place.append(failure(error.message));
  }
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", `Change to ${theme === "dark" ? "light" : "dark"} colours`);
}

const dark = matchMedia("(prefers-color-scheme: dark)");
paint(localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", theme);
  paint(theme);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", async () => {
  await show();
  main.focus({ preventScroll: true });
});
show();
