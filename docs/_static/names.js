// What the theme leaves without a name or a key.
document.addEventListener("DOMContentLoaded", () => {
  // Expanders in the navigation have an icon and no name: they get that of the page they belong to.
  for (const summary of document.querySelectorAll("summary")) {
    if (summary.textContent.trim() || summary.hasAttribute("aria-label")) continue;
    const link = summary.closest("li")?.querySelector("a");
    summary.setAttribute("aria-label", `Pages below ${link ? link.textContent.trim() : "this one"}`);
  }
  // Formulas that are wider than the page can be scrolled by key.
  for (const formula of document.querySelectorAll("div.math")) {
    if (formula.scrollWidth <= formula.clientWidth) continue;
    formula.setAttribute("tabindex", "0");
    formula.setAttribute("role", "region");
    formula.setAttribute("aria-label", "Formula");
  }
});
