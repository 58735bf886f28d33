// The pages work without this. It takes the code of a sign-in out of the address, which browsers
// send to nobody, and moves through lists by keys.
const form = document.querySelector("#code-form");
if (form && location.hash.length > 1) {
  form.elements.code.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}

// j and k move the focus, / goes to the search.
const links = [...document.querySelectorAll(".rows > li > a, .cards a, details.file > summary")];
addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("input[type=search]").focus();
  }
  const step = { j: 1, k: -1 }[event.key];
  if (!step || !links.length) return;
  const now = links.indexOf(document.activeElement);
  const next = now < 0 ? 0 : Math.max(0, Math.min(links.length - 1, now + step));
  links[next].focus();
});
